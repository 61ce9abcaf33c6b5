"""Searching what was typed before."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, OptionList, Static

from skippy_chat.completions.aids import TypingAids
from skippy_chat.tui.typed_search import TypedSearch
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.aids import aids_in
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def aids(tmp_path: Path) -> TypingAids:
    aids = aids_in(tmp_path)
    for text in ("tell me about ships", "a hostile\x1b]52;c;eA==\x07 one", "two\nlines of ships"):
        aids.typed.add(text)
    return aids


def found(desk: Desk) -> list[str]:
    screen = desk.app.screen
    if not isinstance(screen, TypedSearch):
        return []
    return [str(each.prompt) for each in screen.query_one(OptionList).options]


async def test_the_newest_stands_first_and_words_narrow_it_down(aids: TypingAids) -> None:
    async with app_on(FakeConversation(), aids=aids) as desk:
        await desk.pilot.press("ctrl+s")
        await desk.over(TypedSearch)
        await desk.wait_until(
            lambda: (
                found(desk)
                == [
                    "two lines of ships  1 minute ago · 2 lines",
                    "a hostile one  1 minute ago",
                    "tell me about ships  1 minute ago",
                ]
            )
        )
        await desk.type("ships")
        await desk.wait_until(lambda: len(found(desk)) == 2)
        await desk.type("x")
        await desk.wait_until(lambda: found(desk) == [])
        told = desk.app.screen.query_one("#typed-told", Static)
        assert "Nothing that was typed has these words." in str(told.render())
    aids.typed.close()


async def test_a_text_has_the_width_there_is(aids: TypingAids) -> None:
    long = "what do ships carry " * 6
    aids.typed.add(long)
    async with app_on(FakeConversation(), aids=aids, size=(50, 24)) as desk:
        await desk.pilot.press("ctrl+s")
        await desk.wait_until(lambda: found(desk) and 40 <= len(found(desk)[0]) <= 46)
        await desk.pilot.press("down")
        await desk.pilot.resize_terminal(100, 24)
        await desk.wait_until(lambda: found(desk) and 80 <= len(found(desk)[0]) <= 96)
        assert desk.app.screen.query_one(OptionList).highlighted == 1
        await desk.pilot.resize_terminal(40, 10)
        await desk.wait_until(lambda: found(desk) and len(found(desk)[0]) <= 36)
    aids.typed.close()


async def test_what_is_taken_stands_in_the_box_and_is_not_sent(aids: TypingAids) -> None:
    conversation = FakeConversation([Turn(("Yes.",))])
    async with app_on(conversation, aids=aids) as desk:
        await desk.type("ships")
        await desk.pilot.press("ctrl+s")
        await desk.over(TypedSearch)
        await desk.wait_until(lambda: len(found(desk)) == 2)
        assert desk.app.screen.query_one(Input).value == "ships"
        await desk.pilot.press("down", "enter")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, TypedSearch))
        assert desk.composer.text == "tell me about ships"
        assert desk.app.focused is desk.composer
        assert list(conversation.messages()) == []
    aids.typed.close()


async def test_escape_leaves_the_box_as_it_was(aids: TypingAids) -> None:
    async with app_on(FakeConversation(), aids=aids) as desk:
        desk.composer.put("my draft")
        await desk.pilot.press("ctrl+s")
        await desk.over(TypedSearch)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: not isinstance(desk.app.screen, TypedSearch))
        assert desk.composer.text == "my draft"
    aids.typed.close()


async def test_a_text_can_be_forgotten(aids: TypingAids) -> None:
    async with app_on(FakeConversation(), aids=aids) as desk:
        await desk.say("/history hostile")
        await desk.over(TypedSearch)
        await desk.wait_until(lambda: len(found(desk)) == 1)
        await desk.pilot.press("ctrl+x")
        await desk.wait_until(lambda: found(desk) == [])
        assert "a hostile" not in " ".join(each.text for each in aids.typed.search(""))
        await desk.pilot.press("enter")  # nothing to take
        assert isinstance(desk.app.screen, TypedSearch)
        await desk.pilot.press("escape")
    aids.typed.close()


async def test_all_that_were_found_can_be_forgotten_at_the_second_time(aids: TypingAids) -> None:
    async with app_on(FakeConversation(), aids=aids) as desk:
        await desk.pilot.press("ctrl+s")
        search = await desk.over(TypedSearch)
        await desk.type("ships")
        # Two are found before the last letter already, and each look begins anew what may be forgotten.
        await desk.wait_until(lambda: search._words == "ships" and len(found(desk)) == 2)
        await desk.pilot.press("alt+x")
        told = desk.app.screen.query_one("#typed-told", Static)
        assert str(told.render()) == "Alt-X again forgets 2 texts for good."
        await desk.type("x")
        await desk.wait_until(lambda: found(desk) == [])
        await desk.pilot.press("backspace")
        await desk.wait_until(lambda: search._words == "ships" and len(found(desk)) == 2)
        await desk.pilot.press("alt+x")
        assert len(aids.typed.search("")) == 3
        await desk.pilot.press("alt+x")
        await desk.wait_until(lambda: found(desk) == [])
        assert len(aids.typed.search("")) == 1
        await desk.pilot.press("escape")
    aids.typed.close()


async def test_a_history_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "history.db").write_bytes(b"no database")
    async with app_on(FakeConversation(), aids=aids) as desk:
        await desk.pilot.press("ctrl+s")
        await desk.wait_until(
            lambda: "damaged" in str(desk.app.screen.query_one("#typed-told", Static).render())
        )


async def test_without_a_history_it_is_said_so() -> None:
    async with app_on(FakeConversation()) as desk:
        await desk.pilot.press("ctrl+s")
        await desk.wait_until(lambda: "Nothing of what is typed is kept here." in desk.status)
