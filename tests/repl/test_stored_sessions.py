"""/sessions, /new, /delete and /restore on a real history; what they ask for is opened by the command line."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.services import Services
from skippy_chat.repl.stored import StoredSessions
from tests.fakes.conversation import FakeConversation, Turn
from tests.repl import chatting
from tests.repl.chatting import Drawing, chat

pytestmark = pytest.mark.timeout(60)

HERE, THERE = Path("/work/here"), Path("/work/there")
Open = Callable[[], History]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    ticks = iter(range(1_700_000_000_000, 1_800_000_000_000, 1000))
    return lambda: History.open(tmp_path / "history.db", now=lambda: next(ticks))


@pytest.fixture
def services(opened: Open) -> Services:
    """Two sessions here, one elsewhere."""
    with closing(opened()) as history:
        for folder, title, text in (
            (THERE, "far", "The lighthouse is far."),
            (HERE, "old", "A harbour\x1b]0;owned\x07 here."),
            (HERE, "", "Nothing named this one."),
        ):
            session = history.create_session(folder=folder, title=title)
            history.append(session.id, None, "user", text)
    return replace(chatting.services(), stored=StoredSessions(lambda: closing(opened()), HERE))


def found(opened: Open, title: str) -> Session:
    with closing(opened()) as history:
        return history.session(title)


def test_a_folders_sessions_are_listed_the_last_used_first(services: Services) -> None:
    out = chat(FakeConversation(), "/sessions\n", services, Drawing).out
    rows = [line for line in out.splitlines() if line[2:4] in {"1 ", "2 ", "3 "}]
    assert rows[0].startswith("  1  ")
    assert rows[0].endswith("1 message · Nothing named this one. · /work/here")
    assert rows[1].startswith("  2  old · 1 message")
    assert len(rows) == 2
    assert "/sessions N opens one" in out


def test_text_is_sought_in_all_folders_and_a_number_opens_what_was_found(
    services: Services, opened: Open
) -> None:
    chatted = chat(FakeConversation(), "/sessions lighthouse\n/sessions 1\nnever\n", services)
    assert "Session 1: far; 1 message; The [lighthouse] is far; /work/there.\n" in chatted.out
    assert chatted.ended == GoOn(session=found(opened, "far").id)


def test_hostile_text_in_a_session(services: Services) -> None:
    out = chat(FakeConversation(), "/sessions harbour\n", services).out
    assert "owned" not in out
    assert "\x1b" not in out


def test_a_name_opens_a_session_and_words_that_are_nowhere_are_said(services: Services, opened: Open) -> None:
    assert chat(FakeConversation(), "/sessions old\n", services).ended == GoOn(
        session=found(opened, "old").id
    )
    chatted = chat(FakeConversation(), "/sessions 7\n", services)
    assert "No session has the words “7”.\n" in chatted.out
    assert chatted.ended == 0


def test_this_session_is_marked_and_not_opened_again(services: Services, opened: Open) -> None:
    conversation = FakeConversation(session=found(opened, "old"))
    out = chat(conversation, "/sessions\n/sessions 2\n", services, Drawing).out
    assert "* 2  old · 1 message\n" in out
    assert "Session 2, this one: old; 1 message.\n" in chat(conversation, "/sessions\n", services).out
    assert "This is that session.\n" in out


def test_new_sessions() -> None:
    assert chat(FakeConversation(), "/new\n").ended == GoOn(new=True)
    assert chat(FakeConversation(), "/new A name \n").ended == GoOn(new=True, title="A name")


def test_delete_and_restore(services: Services, opened: Open) -> None:
    session = found(opened, "old")
    conversation = FakeConversation([Turn()], session=session)
    chatted = chat(conversation, "/delete\nhello\n/delete\n", services)
    assert "There is nothing to delete: nothing was said in this session." in chatted.err
    assert "Deleted old. For 30 days /restore brings it back; this is a new session.\n" in chatted.out
    assert isinstance(chatted.ended, GoOn)
    assert chatted.ended.new
    with closing(opened()) as history:
        assert history.find("old") is None
    chatted = chat(FakeConversation(), "/restore\n", services)
    assert "Restored old.\n" in chatted.out
    assert chatted.ended == GoOn(session=session.id)
    with closing(opened()) as history:
        assert history.find("old") is not None
    assert "No session is deleted." in chat(FakeConversation(), "/restore\n", services).err
    assert "No deleted session is called 'x'." in chat(FakeConversation(), "/restore x\n", services).err
