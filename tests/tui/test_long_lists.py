"""What stands below a list or a text stays in sight, however long that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static

from tests.fakes.conversation import FakeConversation
from tests.tui.aids import aids_in
from tests.tui.screen import Desk, app_on, overview

pytestmark = pytest.mark.timeout(60)

SIZES = [(80, 24), (60, 20), (200, 50)]


def last_line(desk: Desk, words: str) -> Static:
    """Return the text of the open screen that has these words, which must be in sight as a whole."""
    [found] = [each for each in desk.app.screen.query(Static) if words in str(each.render())]
    assert desk.app.screen.query(Vertical).first().region.contains_region(found.region)
    assert found.region.height > 0
    return found


@pytest.mark.parametrize("size", SIZES)
async def test_the_keys_below_many_sessions(size: tuple[int, int]) -> None:
    sessions = [overview(number, f"about ship {number}") for number in range(60)]
    async with app_on(FakeConversation(), sessions=sessions, size=size, wait=False) as desk:
        await desk.wait_until(lambda: len(desk.app.screen.query(OptionList)) == 1)
        rows = desk.app.screen.query_one(OptionList)
        await desk.wait_until(lambda: rows.option_count == 61)
        await desk.pilot.press("end")
        await desk.pilot.pause()
        assert rows.region.bottom <= last_line(desk, "Ctrl-X deletes").region.y
        assert rows.scroll_offset.y == rows.max_scroll_y > 0


@pytest.mark.parametrize("size", SIZES)
async def test_the_words_and_keys_below_much_that_was_typed(tmp_path: Path, size: tuple[int, int]) -> None:
    aids = aids_in(tmp_path)
    for number in range(60):
        aids.typed.add(f"about ship {number}")
    async with app_on(FakeConversation(), aids=aids, size=size) as desk:
        await desk.pilot.press("ctrl+s")
        await desk.wait_until(lambda: len(desk.app.screen.query("#typed-words")) == 1)
        rows = desk.app.screen.query_one(OptionList)
        await desk.wait_until(lambda: rows.option_count == 60)
        await desk.pilot.pause()
        words = desk.app.screen.query_one(Input)
        assert rows.region.bottom <= words.region.y < last_line(desk, "Enter takes it").region.y
    aids.typed.close()


@pytest.mark.parametrize("size", SIZES)
async def test_the_key_below_a_long_text(size: tuple[int, int]) -> None:
    async with app_on(FakeConversation(), size=size) as desk:
        await desk.say("/help")
        await desk.wait_until(lambda: len(desk.app.screen.query("#reading-text")) == 1)
        await desk.pilot.pause()
        text = desk.app.screen.query_one("#reading-text")
        assert text.max_scroll_y > 0
        assert last_line(desk, "Commands").region.bottom <= text.region.y
        assert text.region.bottom <= last_line(desk, "Esc closes").region.y
