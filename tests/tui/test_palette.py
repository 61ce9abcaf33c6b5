"""The palette: what it lists, how it is searched, and that what is chosen is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandInput, CommandList, CommandPalette

from skippy_chat.tui.commands import keyboard
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.reading import ReadingScreen
from skippy_chat.tui.rows import has_room
from skippy_chat.tui.sessions import Choice
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import Desk, FakeShelf, app_on, overview
from tests.tui.test_themes import wishes

pytestmark = pytest.mark.timeout(180)


async def opened(desk: Desk, key: str = "ctrl+p") -> CommandList:
    """Open the palette, and wait until it has all its lines; this one comes last."""
    await desk.pilot.press(key)
    await desk.wait_until(lambda: isinstance(desk.app.focused, CommandInput))
    found = desk.app.screen.query_one(CommandList)
    await desk.wait_until(lambda: any(each.startswith("Take a screenshot") for each in lines(found)))
    return found


def lines(found: CommandList) -> list[str]:
    return [str(each.prompt) for each in found.options]


async def choose(desk: Desk, words: str, name: str) -> None:
    """Search for words, and take the line that begins with ``name`` when it is the first one."""
    found = await opened(desk)
    await desk.type(words)
    await searched(desk, words)
    await desk.wait_until(lambda: any(each.startswith(name) for each in lines(found)[:1]) and has_room(found))
    await desk.pilot.press("enter")
    await desk.wait_until(lambda: not isinstance(desk.app.screen, CommandPalette))


async def searched(desk: Desk, words: str) -> None:
    """Wait until the search for words has ended: while it goes on, what it found shows in parts."""
    palette = desk.app.screen
    await desk.wait_until(lambda: palette.query_one(CommandInput).value == words)
    await desk.wait_until(lambda: all(each.is_finished for each in palette.workers))


async def test_it_lists_every_command_and_key() -> None:
    async with app_on(FakeConversation()) as desk:
        told = "\n".join(lines(await opened(desk)))
        for action in keyboard({}).actions:
            if action.name != "palette":
                assert action.does[1:] in told, action.name
                assert action.typed in told
                assert action.shown in told
        assert "Theme: nord" not in told


async def test_commands_are_run_and_those_that_want_a_word_are_put_into_the_box() -> None:
    async with app_on(FakeConversation()) as desk:
        await choose(desk, "/tools", "/tools")
        await desk.over(ReadingScreen)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, ReadingScreen))
        await choose(desk, "/rename", "/rename TITLE")
        await desk.wait_until(lambda: desk.composer.text == "/rename " and desk.app.focused is desk.composer)


async def test_actions_are_run() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation) as desk:
        await desk.say("hello")
        await desk.ready()
        await choose(desk, "/regenerate", "/regenerate")
        await desk.wait_until(lambda: "regenerate" in conversation.asked)
        await desk.ready()
        await choose(desk, "everything is kept", "/quit")
        await desk.wait_until(lambda: desk.app.return_code == 0)


async def test_a_theme_is_found_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "config" / "config.toml"
    async with app_on(FakeConversation(), preferences=wishes(file)) as desk:
        await choose(desk, "theme nord", "Theme: nord")
        await desk.wait_until(lambda: desk.app.theme == "nord")
        await desk.app.workers.wait_for_complete()
        assert 'theme = "nord"' in file.read_text("utf-8")


async def test_its_key_can_be_changed() -> None:
    async with app_on(FakeConversation(), preferences=Preferences(keys={"palette": ("ctrl+k",)})) as desk:
        await desk.pilot.press("ctrl+p")
        assert not isinstance(desk.app.screen, CommandPalette)
        assert lines(await opened(desk, "ctrl+k"))


async def test_sessions_are_found_and_opened() -> None:
    recent = [overview(1, "about the harbour [red]x[/]\u202e\x1b[2J"), overview(2, "boats", title="voyage")]
    async with app_on(FakeConversation(), sessions=recent, start=Choice()) as desk:
        found = await opened(desk)
        assert "Session:" not in "".join(lines(found))
        await desk.type("harbour")
        shown: list[str] = []

        def shows() -> list[str]:
            shown[:] = [each for each in lines(found) if each.startswith("Session: about")]
            return shown

        await desk.wait_until(shows)
        assert "[red]x[/]" in shown[0]
        assert not {"\x1b", "\u202e"} & set(shown[0])
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, CommandPalette))
        await choose(desk, "voyage", "Session: voyage")
        await desk.wait_until(lambda: desk.chosen[-1].session == "01S2")


async def test_what_is_typed_while_the_sessions_are_read_is_found_when_they_are() -> None:
    shelf = FakeShelf([overview(2, "About ferries")])
    async with app_on(FakeConversation(), shelf=shelf, start=Choice()) as desk:
        shelf.may_answer.clear()
        await desk.pilot.press("ctrl+p")
        await desk.wait_until(lambda: isinstance(desk.app.focused, CommandInput) and shelf.asked)
        palette = desk.app.screen
        await desk.type("fer")
        await desk.wait_until(lambda: palette.query_one(CommandInput).value == "fer")
        shelf.may_answer.set()
        await desk.wait_until(
            lambda: any("About ferries" in each for each in lines(palette.query_one(CommandList)))
        )
