"""Copies of messages behind another one: all of a new branch or nothing of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.errors import HistoryError

LEDGER = Ledger("model", (1, 2, 3), 2, (Run(2, False), Run(1, True)))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    ticks = itertools.count(1000)
    with History.open(tmp_path / "history.db", now=lambda: next(ticks)) as opened:
        yield opened


def talk(history: History, folder: Path) -> tuple[str, list[Message]]:
    session = history.create_session(folder=folder).id
    user = history.append(session, None, "user", "Look.")
    called = history.append(
        session, user.id, "assistant", "I see.", tool_calls=(ToolCall("c", "t", "{}"),), turn="T1"
    )
    result = history.append(session, called.id, "tool", "Much.", tool_call_id="c", status="ok", turn="T1")
    last = history.append(session, result.id, "assistant", "Done.", reasoning="Hm.", turn="T1")
    history.finish(last.id, "Done.", reasoning="Hm.", finish_reason="stop", ledger=LEDGER)
    return session, history.branch(last.id)


def test_everything_stays_but_place_and_ledger(history: History, tmp_path: Path) -> None:
    session, branch = talk(history, tmp_path)
    last = history.copy_behind(session, branch[0].id, branch[1:])
    copied = history.branch(last)
    assert history.head(session) == last
    assert copied[0] == branch[0]
    kept = ("role", "content", "reasoning", "tool_calls", "tool_call_id", "state", "finish_reason", "created")
    for old, new in zip(branch[1:], copied[1:], strict=True):
        assert new.id != old.id
        for name in (*kept, "status", "detail", "turn"):
            assert getattr(new, name) == getattr(old, name)
    assert history.ledger(branch[-1].id, "model") == LEDGER
    assert history.ledger_identities(copied[-1].id) == []
    assert history.branch(branch[-1].id) == branch
    assert [each.message for each in history.search("Done")]  # found in both, as both are there
    assert {each.id for each in history.leaves(session)} == {branch[-1].id, copied[-1].id}


def test_without_messages_the_head_moves(history: History, tmp_path: Path) -> None:
    session, branch = talk(history, tmp_path)
    assert history.copy_behind(session, branch[1].id, ()) == branch[1].id
    assert history.head(session) == branch[1].id
    assert history.copy_behind(session, None, ()) is None
    assert history.head(session) is None
    assert history.branch(branch[-1].id) == branch


def test_a_message_without_a_time_is_of_now(history: History, tmp_path: Path) -> None:
    session, branch = talk(history, tmp_path)
    last = history.copy_behind(session, None, [Message("", session, None, "user", "New.")])
    assert last is not None
    assert history.message(last).created > branch[-1].created
    assert history.message(last).parent is None


def test_it_is_all_or_nothing(history: History, tmp_path: Path) -> None:
    session, branch = talk(history, tmp_path)
    other, foreign = talk(history, tmp_path)
    for parent in (foreign[0].id, "no such message"):
        with pytest.raises(HistoryError):
            history.copy_behind(session, parent, branch[1:])
    surrogate = Message("", session, None, "user", "\ud800")
    with pytest.raises((HistoryError, UnicodeEncodeError)):
        history.copy_behind(session, branch[0].id, [*branch[1:], surrogate])
    assert history.head(session) == branch[-1].id
    assert [each.id for each in history.leaves(session)] == [branch[-1].id]
    assert [each.id for each in history.leaves(other)] == [foreign[-1].id]
