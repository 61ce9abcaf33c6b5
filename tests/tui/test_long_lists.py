"""What stands below a list or a text stays in sight, however long that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static

from skippy_chat.tui.reading import ReadingScreen
from skippy_chat.tui.sessions import SessionPicker
from skippy_chat.tui.typed_search import TypedSearch
from tests.fakes.conversation import FakeConversation
from tests.tui.aids import aids_in
from tests.tui.screen import Desk, app_on, overview

pytestmark = pytest.mark.timeout(180)

SIZES = [(80, 24), (60, 20), (200, 50)]


async def line(desk: Desk, words: str) -> Static:
    """Return the text of the open screen that has these words, once it is in sight as a whole."""
    [found] = [each for each in desk.app.screen.query(Static) if words in str(each.render())]
    around = desk.app.screen.query(Vertical).first()
    await desk.wait_until(lambda: found.region.height > 0 and around.region.contains_region(found.region))
    return found


@pytest.mark.parametrize("size", SIZES)
async def test_the_keys_below_many_sessions(size: tuple[int, int]) -> None:
    sessions = [overview(number, f"about ship {number}") for number in range(60)]
    async with app_on(FakeConversation(), sessions=sessions, size=size, wait=False) as desk:
        rows = (await desk.over(SessionPicker)).query_one(OptionList)
        await desk.wait_until(lambda: rows.option_count == 61)
        await desk.pilot.press("end")
        keys = await line(desk, "Ctrl-X deletes")
        await desk.wait_until(
            lambda: rows.region.bottom <= keys.region.y and rows.scroll_offset.y == rows.max_scroll_y > 0
        )


@pytest.mark.parametrize("size", SIZES)
async def test_the_words_and_keys_below_much_that_was_typed(tmp_path: Path, size: tuple[int, int]) -> None:
    aids = aids_in(tmp_path)
    for number in range(60):
        aids.typed.add(f"about ship {number}")
    async with app_on(FakeConversation(), aids=aids, size=size) as desk:
        await desk.pilot.press("ctrl+s")
        search = await desk.over(TypedSearch)
        rows, words = search.query_one(OptionList), search.query_one(Input)
        await desk.wait_until(lambda: rows.option_count == 60)
        keys = await line(desk, "Enter takes it")
        await desk.wait_until(lambda: rows.region.bottom <= words.region.y < keys.region.y)
    aids.typed.close()


@pytest.mark.parametrize("size", SIZES)
async def test_the_key_below_a_long_text(size: tuple[int, int]) -> None:
    async with app_on(FakeConversation(), size=size) as desk:
        await desk.say("/help")
        text = (await desk.over(ReadingScreen)).query_one("#reading-text")
        title, keys = await line(desk, "Commands"), await line(desk, "Esc closes")
        await desk.wait_until(
            lambda: (
                text.max_scroll_y > 0
                and title.region.bottom <= text.region.y
                and text.region.bottom <= keys.region.y
            )
        )
