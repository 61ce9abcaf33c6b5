"""Keys that the person gives to actions and commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.errors import ConfigError
from skippy_chat.key_names import key_name
from skippy_chat.tui.commands import keyboard, table
from skippy_chat.tui.keys import ACTIONS, FIXED, Action, keyboard_of
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.reading import ReadingScreen
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import app_on

pytestmark = pytest.mark.timeout(180)


def test_the_keys_that_come_with_it_are_ones_that_may_be_given() -> None:
    for action in keyboard({}).actions:
        for key in action.keys:
            assert key_name(key) == key


def test_no_key_of_the_app_is_taken_twice() -> None:
    keys = [each.key for each in keyboard({}).bindings]
    assert len(keys) == len(set(keys))


def test_every_key_that_help_tells_by_name_exists() -> None:
    told = keyboard({}).told
    assert "{" not in told
    assert "no key" not in told


def test_other_keys_are_bound_and_told() -> None:
    keys = keyboard({"regenerate": ("f5", "f7"), "tools": ("f6",), "follow": ()})
    bound = {each.key: each.action for each in keys.bindings}
    assert bound["f5"] == bound["f7"] == "command('regenerate')"
    assert bound["f6"] == "command('tools')"
    assert "ctrl+r" not in bound
    assert "ctrl+end" not in bound
    assert "F5, F7" in keys.told
    assert "no key" in keys.told
    assert {each.key for each in FIXED} <= set(bound)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (
            {"regenrate": ("f5",)},
            "config.toml: there is no command or action 'regenrate'. Did you mean regenerate?",
        ),
        (
            {"details": ("ctrl+r",)},
            "Ctrl-R would be the key of details and of regenerate. Give one of them another key, or none: regenerate",
        ),
        (
            {"regenerate": ("ctrl+o",)},
            "Ctrl-O would be the key of regenerate and of details. Give one of them another key, or none: details",
        ),
        ({"tools": ("f6",), "undo": ("f6",)}, "F6 would be the key of"),
    ],
)
def test_slips_and_conflicts_are_said(wanted: dict[str, tuple[str, ...]], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        keyboard(wanted, "config.toml")
    assert told in str(caught.value)


def test_a_command_takes_the_place_of_an_action_of_its_name() -> None:
    command = Action("details", "more", "command('details')", ("ctrl+o",), "/details")
    assert keyboard_of([command], {}).of("details") == "Ctrl-O"
    assert len(keyboard_of([command], {}).actions) == len(ACTIONS)


def test_names_are_those_of_the_commands() -> None:
    assert {each.name for each in keyboard({}).actions} >= {each.name for each in table().values()}


async def test_a_key_that_was_changed_works_and_the_old_one_does_not(tmp_path: Path) -> None:
    wishes = Preferences(keys={"tools": ("f8",), "regenerate": ("f5",)})
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation, preferences=wishes) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.pilot.press("ctrl+r")
        assert "regenerate" not in conversation.asked
        await desk.pilot.press("f5")
        await desk.wait_until(lambda: "regenerate" in conversation.asked)
        await desk.ready()
        await desk.pilot.press("f8")
        await desk.over(ReadingScreen)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, ReadingScreen))
        await desk.say("/help")
        await desk.over(ReadingScreen)
        shown = "\n".join(str(each.render()) for each in desk.app.screen.query("Static"))
        assert "(F8)" in shown
        assert "F5          answers your last message again" in shown


async def test_no_command_runs_behind_a_screen(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.say("/keys")
        await desk.over(ReadingScreen)
        await desk.pilot.press("ctrl+r")
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, ReadingScreen))
        assert "regenerate" not in conversation.asked
