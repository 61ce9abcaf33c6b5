"""The list over the box."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from skippy_chat.completions.aids import TypingAids
from skippy_chat.completions.source import Offers
from skippy_chat.tui.completing import OfferList
from skippy_chat.tui.typing_feature import _look
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.aids import aids_in
from tests.tui.screen import PATIENCE, Desk, app_on

pytestmark = pytest.mark.timeout(180)


def offered(desk: Desk) -> list[str]:
    shown = desk.app.screen_stack[0].query_one(OfferList)
    return str(shown.render()).split("\n")[:-1] if shown.display else []


@asynccontextmanager
async def desk_in(folder: Path, conversation: FakeConversation | None = None) -> AsyncIterator[Desk]:
    async with app_on(conversation or FakeConversation(), aids=aids_in(folder)) as desk:
        yield desk


def looking(desk: Desk) -> bool:
    return any(each.group == "offers" and not each.is_finished for each in desk.app.workers)


async def shows(desk: Desk, word: str) -> None:
    """Wait for a word in the list of the text that is in the box."""
    await desk.wait_until(lambda: not looking(desk) and any(word in line for line in offered(desk)))


async def test_a_slash_lists_commands_and_prompts_with_what_they_do(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("/ex")
        await shows(desk, "/explain")
        assert [line.split("  ")[1].strip() for line in offered(desk)] == [
            "/export [md|json|html] [FILE]",
            "/explain TEXT",
        ]
        assert "A word" in offered(desk)[1]


async def test_tab_takes_the_first_and_words_behind_it_are_offered(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("/exp")
        await shows(desk, "/export")
        await desk.pilot.press("tab")
        assert desk.composer.text == "/export "
        assert desk.app.focused is desk.composer
        await shows(desk, "json")
        await desk.pilot.press("down", "down", "tab")
        assert desk.composer.text == "/export json"
        await desk.wait_until(lambda: not offered(desk))


async def test_a_key_that_comes_before_the_list_is_for_the_text_it_was_pressed_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slowly(aids: TypingAids, text: str, cursor: int) -> Offers | None:
        assert go_on.wait(PATIENCE)
        return _look(aids, text, cursor)

    async with desk_in(tmp_path) as desk:
        await desk.type("/e")
        await shows(desk, "/edit")
        monkeypatch.setattr("skippy_chat.tui.typing_feature._look", slowly)
        await desk.type("xp")
        await desk.pilot.press("down", "tab")
        assert desk.composer.text == "/exp"
        assert offered(desk)
        go_on.set()
        await desk.wait_until(lambda: desk.composer.text == "/export ")


async def test_a_theme_is_offered_by_its_name(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("/theme so")
        await shows(desk, "solarized-light")
        assert len(offered(desk)) == 2
        await desk.pilot.press("tab", "enter")
        await desk.wait_until(lambda: desk.app.theme == "solarized-dark")


async def test_a_file_is_completed_step_by_step(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("see @sr")
        await shows(desk, "src/")
        await desk.pilot.press("tab")
        assert desk.composer.text == "see @src/"
        await shows(desk, "my file.txt")
        await desk.pilot.press("down", "down", "enter")
        assert desk.composer.text == 'see @"src/my file.txt" '
        assert not desk.transcript.views
        await desk.type("now")
        assert desk.composer.text.endswith(" now")


async def test_enter_sends_what_is_typed_unless_an_offer_was_chosen(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Yes.",))])
    async with desk_in(tmp_path, conversation) as desk:
        await desk.type("ask @note")
        await shows(desk, "notes.md")
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: "Yes." in desk.texts)
        assert conversation.messages()[0].content == "ask @note"
        assert offered(desk) == []


async def test_escape_closes_the_list_and_no_more(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("/ex")
        await shows(desk, "/export")
        await desk.pilot.press("escape")
        assert offered(desk) == []
        assert desk.composer.text == "/ex"
        await desk.wait_until(lambda: not looking(desk))
        assert offered(desk) == []
        await desk.pilot.press("tab")
        assert desk.composer.text == "/ex"


async def test_what_is_taken_can_be_undone_like_typing(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("/exp")
        await shows(desk, "/export")
        await desk.pilot.press("tab", "ctrl+z")
        assert desk.composer.text == "/exp"


async def test_a_mention_in_the_middle_of_several_lines_is_completed_in_its_place(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        desk.composer.put("first\nsecond  end")
        desk.composer.move_cursor((1, 7))
        await desk.type("@not")
        await shows(desk, "notes.md")
        await desk.pilot.press("tab")
        assert desk.composer.text == "first\nsecond @notes.md  end"
        assert desk.composer.cursor_location == (1, 17)


async def test_a_text_that_is_brought_back_offers_nothing(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        desk.composer.put("/ex")
        await desk.wait_until(lambda: not looking(desk))
        assert offered(desk) == []


async def test_a_long_list_moves_under_the_choice_and_says_how_much_there_is(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        await desk.type("/")
        await shows(desk, "/continue")
        rows = len(offered(desk))
        assert rows <= 8
        last = str(desk.app.screen_stack[0].query_one(OfferList).render()).split("\n")[-1]
        assert "more · Tab takes it" in last
        await desk.pilot.press("up")
        assert offered(desk)[-1].startswith("▸ ")
        assert len(offered(desk)) == rows
        await desk.pilot.press("down")
        assert offered(desk)[0].startswith("▸ /continue")


async def test_names_of_files_are_shown_clean(tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    (tmp_path / "work" / "zz\u202egpj.txt").touch()
    (tmp_path / "work" / "zz\x1b]0;x\x07.txt").touch()
    async with app_on(FakeConversation(), aids=aids) as desk:
        await desk.type("@zz")
        await desk.pilot.pause(0.3)
        assert not any("\u202e" in line or "\x1b" in line for line in offered(desk))
