"""A fork is the whole branch with its ledgers, and a session of its own from then on."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Session
from skippy_chat.errors import HistoryError, SessionNotFound
from tests.chat.clock import Clock


def ledger(count: int, identity: str = "m") -> Ledger:
    return Ledger(identity, tuple(range(count)), count - 2, (Run(count, single=False),), "sampling")


@pytest.fixture
def session(history: History) -> Session:
    """Two turns, the second asked twice; the head is on the first version of it."""
    made = history.create_session(
        folder=Path("/here"), title="work", model="default", settings={"pinned_time": 7}
    )
    at = history.append(made.id, None, "system", "Be brief.").id
    at = history.append(made.id, at, "user", "one").id
    first = history.append(made.id, at, "assistant", "eins", finish_reason="stop")
    history.save_ledger(first.id, ledger(8))
    history.save_ledger(first.id, ledger(6, "other"))
    other = history.append(made.id, first.id, "user", "not on this branch")
    history.append(made.id, other.id, "assistant", "nor this")
    asked = history.append(made.id, first.id, "user", "two")
    second = history.append(made.id, asked.id, "assistant", "zw", state="interrupted")
    history.save_ledger(second.id, ledger(20), base=first.id)
    return made


def test_the_branch_is_copied_with_its_ledgers(history: History, session: Session, clock: Clock) -> None:
    clock.now += 5000
    forked = history.fork(session.id, " copy ")
    assert (forked.title, forked.folder, forked.model, forked.settings) == (
        "copy",
        "/here",
        "default",
        {"pinned_time": 7},
    )
    assert forked.created == forked.updated == clock.now
    assert history.session("copy") == forked
    old = history.branch(history.head(session.id))
    new = history.branch(history.head(forked.id))
    assert [(m.role, m.content, m.state, m.finish_reason, m.created) for m in new] == [
        (m.role, m.content, m.state, m.finish_reason, m.created) for m in old
    ]
    assert not {m.id for m in new} & {m.id for m in old}
    assert {m.session for m in new} == {forked.id}
    assert history.overview(forked.id).messages == len(new) == 5
    for mine, theirs in zip(new, old, strict=True):
        for identity in ("m", "other"):
            assert history.ledger(mine.id, identity) == history.ledger(theirs.id, identity)
    assert history.ledger(new[-1].id, "m") == ledger(20)


def test_the_two_go_their_own_ways(history: History, session: Session) -> None:
    forked = history.fork(session.id)
    history.append(forked.id, history.head(forked.id), "user", "only in the copy")
    history.delete(session.id)
    assert [m.content for m in history.branch(history.head(forked.id))][-1] == "only in the copy"
    assert history.ledger(history.branch(history.head(forked.id))[4].id, "m") == ledger(20)
    assert [hit.session.id for hit in history.search("eins")] == [forked.id]


def test_an_empty_session_and_none_at_all(history: History) -> None:
    empty = history.create_session(folder=Path("/here"))
    assert history.head(history.fork(empty.id).id) is None
    with pytest.raises(SessionNotFound):
        history.fork("no such")


def test_a_fork_that_fails_leaves_nothing(
    history: History, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HistoryError, match="'work' exists"):
        history.fork(session.id, "work")

    def full(*_: object) -> None:
        raise HistoryError("no room")

    monkeypatch.setattr("skippy_chat.chat.ledger_rows.save", full)
    with pytest.raises(HistoryError, match="no room"):
        history.fork(session.id, "copy")
    assert [each.title for each in history.sessions()] == ["work"]


def test_a_fork_at_a_message_ends_there(history: History, session: Session) -> None:
    leaf = history.leaves(session.id)[-1]  # the branch that the head is not on
    forked = history.fork(session.id, at=leaf.id)
    assert [each.content for each in history.branch(history.head(forked.id))][-2:] == [
        "not on this branch",
        "nor this",
    ]
    with pytest.raises(HistoryError, match="another session"):
        history.fork(session.id, at=history.head(forked.id))
    assert len(history.sessions()) == 2
