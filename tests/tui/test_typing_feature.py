"""The commands that help to type, and AGENTS.md shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from skippy_chat.chat.messages import Session
from skippy_chat.tui.reading import ReadingScreen
from skippy_chat.tui.typed_search import TypedSearch
from tests.fakes.conversation import MODEL, FakeConversation
from tests.tui.aids import aids_in
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def reading(desk: Desk) -> str:
    if not isinstance(desk.app.screen, ReadingScreen):
        return ""
    return "\n".join(str(each.render()) for each in desk.app.screen.query("Static"))


def session_with(text: str) -> Session:
    return Session("01FAKE", "demo", "/work", 0, 0, MODEL.name, {"agents_text": text})


async def test_what_a_session_has_of_agents_md_is_told_when_it_opens_and_shown_clean() -> None:
    conversation = FakeConversation(session=session_with("Be brief.\x1b[2J"))
    async with app_on(conversation) as desk:
        assert "AGENTS.md (13 B) is part of the system prompt; /agents shows it." in desk.status
        await desk.say("/agents")
        await desk.wait_until(lambda: "Be brief." in reading(desk))
        assert "\x1b" not in reading(desk)


async def test_a_session_without_it_says_how_one_would_have_it() -> None:
    async with app_on(FakeConversation()) as desk:
        assert "AGENTS.md" not in desk.status
        await desk.say("/agents")
        await desk.wait_until(lambda: "agents_file=on" in reading(desk))


async def test_prompts_are_listed_with_where_they_lie_and_what_is_wrong(tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    folder = tmp_path / "config" / "prompts"
    (folder / "tools.md").write_text("x")
    (folder / "bad.md").write_text("+++\nmodel = 'x'\n+++\nx")
    async with app_on(FakeConversation(), aids=aids, size=(200, 50)) as desk:
        await desk.say("/prompts")
        await desk.wait_until(lambda: "/explain  A word" in reading(desk))
        assert "/tools  x (not used: a command has this name)" in reading(desk)
        assert "Not usable: " in reading(desk)
        assert str(folder) in reading(desk)


async def test_both_keys_search_and_the_command_itself_is_no_search_word(tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    async with app_on(FakeConversation(), aids=aids) as desk:
        for keys in (("ctrl+s",), ("f3",)):
            await desk.pilot.press(*keys)
            await desk.over(TypedSearch)
            await desk.pilot.press("escape")
            await desk.wait_until(lambda: not isinstance(desk.app.screen, TypedSearch))
        await desk.say("/history")
        await desk.over(TypedSearch)
        assert desk.app.screen.query_one(Input).value == ""
        await desk.pilot.press("escape")
        await desk.pilot.pause()
        assert desk.composer.text == ""
    assert aids.typed.search("") == []
