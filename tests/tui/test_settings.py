"""The settings screen and /reasoning: what is shown, what is written, and what holds at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input, OptionList, Static

from skippy_chat.config import KEYS, load_settings
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.reading import ReadingScreen
from skippy_chat.tui.settings import SettingsScreen
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)

TEXT = "# mine\ntemperature = 0.5 # warm\n\n# size\nctx = 4096\n"


@asynccontextmanager
async def settings_on(
    root: Path, conversation: FakeConversation | None = None, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Desk, Path, FakeConversation]]:
    file = root / "config" / "config.toml"
    file.parent.mkdir(mode=0o700)
    file.write_text(TEXT)
    talk = conversation or FakeConversation([Turn(("One.",))])
    talk.settings = load_settings(flags={}, user_file=file)
    wishes = Preferences(
        file=file, settings=lambda session: load_settings(flags={}, session=session, user_file=file)
    )
    async with app_on(talk, preferences=wishes, size=size) as desk:
        await desk.say("/settings")
        await desk.over(SettingsScreen)
        await desk.wait_until(lambda: rows(desk))
        yield desk, file, talk


def rows(desk: Desk) -> list[str]:
    return [str(each.prompt) for each in desk.app.screen.query_one(OptionList).options]


def told(desk: Desk, which: str) -> str:
    return str(desk.app.screen.query_one(f"#setting-{which}", Static).render())


def painted(desk: Desk) -> str:
    return "\n".join(strip.text for strip in desk.app.screen._compositor.render_strips())


async def go_to(desk: Desk, key: str) -> None:
    desk.app.screen.query_one(OptionList).highlighted = KEYS.index(key)
    await desk.pilot.pause()


async def change(desk: Desk, key: str, value: str, how: str = "enter") -> None:
    """Highlight a setting, type a value for it, and wait for what is said of that."""
    await go_to(desk, key)
    await desk.pilot.press(how)
    entry = desk.app.screen.query_one(Input)
    await desk.wait_until(lambda: entry.has_focus)
    entry.value = value
    await desk.pilot.press("enter")
    await desk.app.screen.workers.wait_for_complete()
    await desk.app.workers.wait_for_complete()
    await desk.wait_until(lambda: told(desk, "note"))


async def test_every_setting_is_shown_with_its_value_and_source(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, _talk):
        shown = rows(desk)
        assert [each.split()[0] for each in shown] == list(KEYS)
        assert shown[KEYS.index("temperature")].split()[1:] == ["0.5", "config.toml,", "line", "2"]
        assert shown[KEYS.index("top_k")].split()[1:] == ["40", "default"]
        await go_to(desk, "temperature")
        text = told(desk, "told")
        assert "How much chance decides" in text
        assert "A number from 0 to 5. Default: 0.7." in text
        assert f"From: {file}, line 2" in text
        assert "A change in the file holds at once." in text
        await go_to(desk, "ctx")
        assert "in new sessions" in told(desk, "told")
        await desk.pilot.press("escape")
        assert not isinstance(desk.app.screen, SettingsScreen)


async def test_a_change_is_written_beside_its_comments_and_holds(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, talk):
        await change(desk, "temperature", "0.25")
        assert file.read_text("utf-8") == TEXT.replace("0.5 # warm", "0.25 # warm")
        assert talk.settings.temperature == 0.25
        assert "temperature is 0.25 in config.toml; it holds at once." in told(desk, "note")
        assert rows(desk)[KEYS.index("temperature")].split()[1] == "0.25"
        await change(desk, "ctx", "8192")
        assert "ctx = 8192" in file.read_text("utf-8")
        assert "it holds in new sessions" in told(desk, "note")
        assert talk.settings.ctx == 4096


async def test_what_does_not_fit_is_said_and_not_written(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, talk):
        await change(desk, "temperature", "hot")
        assert "a number is wanted" in told(desk, "note")
        assert file.read_text("utf-8") == TEXT
        assert talk.settings.temperature == 0.5
        assert desk.app.screen.query_one(Input).has_focus, "to be mended"
        await desk.pilot.press("escape")
        assert isinstance(desk.app.screen, SettingsScreen)
        assert desk.app.screen.query_one(OptionList).has_focus


async def test_a_change_for_the_session_alone_leaves_the_file(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, talk):
        await change(desk, "temperature", "1.5", how="s")
        assert "temperature is 1.5 in this session." in told(desk, "note")
        assert (talk.settings.temperature, file.read_text("utf-8")) == (1.5, TEXT)
        assert rows(desk)[KEYS.index("temperature")].split()[1:] == ["1.5", "session"]
        await go_to(desk, "ctx")
        await desk.pilot.press("s")
        assert "ctx cannot be changed while a session is open" in told(desk, "note")


async def test_a_setting_is_taken_out_of_the_file(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, _talk):
        await go_to(desk, "ctx")
        await desk.pilot.press("d")
        await desk.wait_until(lambda: "says nothing for ctx any more" in told(desk, "note"))
        assert "ctx" not in file.read_text("utf-8")
        await desk.pilot.press("d")
        await desk.wait_until(lambda: "config.toml says nothing for ctx." in told(desk, "note"))
        await change(desk, "temperature", "")
        assert "temperature" not in file.read_text("utf-8")


async def test_words_are_gone_through_and_a_theme_holds_at_once(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, _talk):
        await go_to(desk, "theme")
        await desk.pilot.press("enter", "down", "enter")
        await desk.wait_until(lambda: desk.app.theme == "light")
        await desk.wait_until(lambda: "theme is light" in told(desk, "note"))
        assert 'theme = "light"' in file.read_text("utf-8")
        await go_to(desk, "reasoning")
        await desk.pilot.press("enter", "down", "enter")
        await desk.wait_until(lambda: "reasoning is false" in told(desk, "note"))
        await go_to(desk, "theme")
        await desk.pilot.press("d")
        await desk.wait_until(lambda: desk.app.theme == "dark")
        await desk.wait_until(lambda: "says nothing for theme any more" in told(desk, "note"))


async def test_keys_are_checked_and_hold_at_once(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, _talk):
        await change(desk, "keys", "tools=ctrl+p")
        assert "Ctrl-P would be the key of" in told(desk, "note")
        assert file.read_text("utf-8") == TEXT
        await desk.pilot.press("escape")
        await change(desk, "keys", "tools=ctrl+i")
        assert "terminals send Tab for Ctrl-I" in told(desk, "note")
        await desk.pilot.press("escape")
        await change(desk, "keys", "tools=f8")
        assert '[keys]\ntools = "f8"' in file.read_text("utf-8")
        await desk.pilot.press("escape")
        await desk.pilot.press("f8")
        await desk.wait_until(lambda: isinstance(desk.app.screen, ReadingScreen))


async def test_a_system_prompt_of_several_lines_is_left_to_an_editor(tmp_path: Path) -> None:
    talk = FakeConversation()
    async with settings_on(tmp_path, talk) as (desk, _file, _talk):
        talk.settings = replace(talk.settings, system="One.\nTwo.\x1b[2J")
        await change(desk, "temperature", "0.1")
        await go_to(desk, "system")
        await desk.pilot.press("enter")
        assert "several lines" in told(desk, "note")
        assert not desk.app.screen.query_one("#setting-entry").display
        assert "\x1b" not in "".join(rows(desk))


async def test_it_fits_a_narrow_and_a_wide_terminal(tmp_path: Path) -> None:
    async with settings_on(tmp_path, size=(60, 18)) as (desk, _file, _talk):
        listed = desk.app.screen.query_one(OptionList)
        assert max(len(each) for each in rows(desk)) <= listed.size.width
        assert desk.app.screen.query_one("#setting-keys").region.bottom <= 18
        await go_to(desk, "approve")
        await desk.pilot.press("enter")
        # In the list, and where it is changed.
        await desk.wait_until(lambda: painted(desk).count("approve ") == 2)
        await desk.pilot.press("escape")
        await desk.pilot.resize_terminal(150, 40)
        await desk.wait_until(lambda: listed.size.width > 80)
        await desk.wait_until(lambda: max(len(each) for each in rows(desk)) > 70)


async def test_reasoning_is_switched_where_the_template_knows_it() -> None:
    talk = FakeConversation([Turn(("One.",))])
    talk.loaded = replace(talk.loaded, thinks=True)
    async with app_on(talk) as desk:
        await desk.say("hello")
        await desk.ready()
        await desk.say("/reasoning")
        await desk.wait_until(lambda: not talk.settings.reasoning)
        await desk.wait_until(lambda: "Reasoning is off from the next answer on" in desk.texts[-1])
        await desk.say("/reasoning on")
        await desk.wait_until(lambda: talk.settings.reasoning)
        await desk.ready()
        await desk.say("/reasoning maybe")
        assert "Say /reasoning on or /reasoning off." in desk.status


async def test_reasoning_that_a_template_does_not_know_is_said() -> None:
    talk = FakeConversation()
    async with app_on(talk) as desk:
        await desk.say("/reasoning off")
        assert "knows no reasoning" in desk.status
        assert talk.settings.reasoning


async def test_keys_that_come_fast_act_in_their_order(tmp_path: Path) -> None:
    async with settings_on(tmp_path) as (desk, file, _talk):
        await go_to(desk, "temperature")
        await desk.pilot.press("enter")
        for key in ("backspace", "backspace", "backspace", "1", "full_stop", "5", "left", "2", "enter"):
            desk.app.simulate_key(key) if len(key) > 1 and key != "full_stop" else desk.app.post_message(
                events.Key(key, "." if key == "full_stop" else key)
            )
        await desk.wait_until(lambda: "temperature is 1.25" in told(desk, "note"))
        assert "temperature = 1.25 # warm" in file.read_text("utf-8")


async def test_hostile_values_are_shown_clean(tmp_path: Path) -> None:
    talk = FakeConversation()
    async with settings_on(tmp_path, talk, size=(120, 30)) as (desk, _file, _talk):
        hostile = "a\x1b]52;c;ZXZpbA==\x07b \x9b2J[red]c"
        talk.settings = replace(talk.settings, system=hostile, sources={"system": "\x1b[2Jsomewhere"})
        await change(desk, "top_k", "7")
        await go_to(desk, "system")
        await desk.pilot.press("enter")
        entry = desk.app.screen.query_one(Input)
        await desk.wait_until(lambda: entry.has_focus)
        texts = [*rows(desk), told(desk, "told"), told(desk, "note"), entry.value]
        lines = [strip.text for strip in desk.app.screen._compositor.render_strips()]
        assert not any(each in text for text in (*texts, *lines) for each in "\x1b\x07\x9b")
        assert entry.value == "ab [red]c"
