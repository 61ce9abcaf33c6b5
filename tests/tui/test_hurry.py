"""Keys that come faster than the app takes them: in one burst, as over a slow line or from a script."""

from __future__ import annotations

import pytest
from textual import events
from textual.dom import DOMNode
from textual.widget import Widget

from skippy_chat.tui.branches import BranchPicker
from skippy_chat.tui.bridge import Done
from skippy_chat.tui.sessions import SessionPicker
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def burst(desk: Desk, *keys: str) -> None:
    """Let the terminal give all of these at once; a text of several letters is typed."""
    for key in keys:
        for each in key if key.startswith(("/", " ")) or key.isupper() else [key]:
            character = each if len(each) == 1 else {"enter": "\r", "tab": "\t"}.get(each)
            desk.app.post_message(events.Key("space" if each == " " else each, character))


def asked(conversation: FakeConversation) -> list[str]:
    return [each.content for each in conversation.messages() if each.role == "user"]


async def first_turn(desk: Desk) -> None:
    """Ask something, and wait for the end of the first answer."""
    await desk.say("first")
    await desk.wait_until(lambda: "One." in desk.texts)
    await desk.ready()


async def test_what_is_typed_behind_enter_is_for_the_next_message() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation) as desk:
        burst(desk, "HELLO", "enter", "NEXT", "enter", "REST")
        await desk.wait_until(lambda: asked(conversation) == ["HELLO", "NEXT"])
        await desk.ready()
        assert desk.composer.text == "REST"


async def test_enter_twice_sends_once() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation) as desk:
        burst(desk, "HELLO", "enter", "enter", "enter")
        await desk.wait_until(lambda: desk.texts[-1:] == ["One."])
        await desk.ready()
        assert asked(conversation) == ["HELLO"]


async def test_what_cannot_be_sent_is_before_what_was_typed_since() -> None:
    async with app_on(FakeConversation()) as desk:
        burst(desk, "/nonsense", "enter", "MORE")
        await desk.wait_until(lambda: desk.composer.text == "/nonsense\nMORE")
        assert "/nonsense" in desk.status


async def test_what_is_typed_behind_an_edit_stays() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation) as desk:
        await first_turn(desk)
        await desk.say("/edit")
        await desk.wait_until(lambda: desk.composer.text == "first")
        burst(desk, "S", "enter", "NEXT")
        await desk.wait_until(lambda: "Two." in desk.texts)
        await desk.ready()
        assert asked(conversation) == ["firstS"]
        assert desk.composer.text == "NEXT"


@pytest.mark.parametrize("key", ["ctrl+r", "f2", "ctrl+x", "delete", "ctrl+f", "ctrl+z", "down"])
async def test_keys_behind_the_one_that_opens_the_sessions_do_no_harm(key: str) -> None:
    conversation = FakeConversation()
    async with app_on(conversation) as desk:
        burst(desk, "ctrl+l", key)
        await desk.wait_until(lambda: isinstance(desk.app.screen, SessionPicker))
        await desk.pilot.pause()
    assert desk.app._exception is None


async def test_a_branch_is_chosen_as_soon_as_they_show() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation) as desk:
        await first_turn(desk)
        await desk.say("/branch")
        await desk.wait_until(lambda: isinstance(desk.app.screen, BranchPicker))
        assert not desk.app._turns.busy
        await desk.over(BranchPicker)
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: "This is that branch." in desk.texts[-1])


async def test_what_comes_when_the_program_has_ended_is_let_go() -> None:
    async with app_on(FakeConversation([Turn(("One.",), endless=True)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: desk.texts[-1] == "One.")
    assert desk.app._is_ending
    desk.app.bridge._items.append(Done("It is done."))
    desk.app._take()


async def test_what_comes_while_the_program_ends_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async with app_on(FakeConversation([Turn(("One.",), endless=True)])) as desk:
        await desk.say("go")
        await desk.wait_until(lambda: desk.texts[-1] == "One.")
        app, prune = desk.app, desk.app._prune
        found = []

        async def pruned(*nodes: Widget, parent: DOMNode | None = None) -> None:
            await prune(*nodes, parent=parent)
            found.append((len(app.screen_stack), app._is_ending))
            app.bridge._items.append(Done("It is done."))
            app._take()
            app.on_text_area_changed()

        monkeypatch.setattr(app, "_prune", pruned)
    assert found[:1] == [(1, True)]
    assert app._exception is None
