"""Deleted sessions: gone from everywhere, and back as they were; drafts, which are kept beside the messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.errors import HistoryError, SessionNotFound
from tests.chat.clock import Clock

HERE = Path("/here")


@pytest.fixture
def trip(history: History) -> Session:
    session = history.create_session(folder=HERE, title="trip", settings={"temperature": 0.5})
    history.append(session.id, None, "user", "where is the harbour?")
    return history.session("trip")


def test_a_deleted_session_is_found_by_nothing(history: History, trip: Session, clock: Clock) -> None:
    clock.now += 5
    assert history.put_away(trip.id).deleted == clock.now
    assert not any((history.sessions(), history.overviews(HERE), history.found(""), history.found("trip")))
    assert not any((history.search("harbour"), history.found("harbour")))
    assert history.find("trip") is history.find(trip.id) is history.newest() is None
    for reference in ("trip", trip.id, trip.id[:12]):
        with pytest.raises(SessionNotFound):
            history.session(reference)
    with pytest.raises(SessionNotFound) as told:
        history.session("trib")
    assert "trip" not in told.value.hint


def test_it_comes_back_as_it_was(history: History, trip: Session) -> None:
    history.put_away(trip.id)
    assert history.bring_back(trip.id) == trip
    assert [hit.session for hit in history.search("harbour")] == [trip]
    assert history.bring_back(trip.id) == trip  # twice is no harm


def test_deleting_twice_keeps_the_first_time(history: History, trip: Session, clock: Clock) -> None:
    first = history.put_away(trip.id).deleted
    clock.now += 1000
    assert history.put_away(trip.id).deleted == first


def test_a_name_is_free_while_its_session_is_deleted(history: History, trip: Session) -> None:
    history.put_away(trip.id)
    second = history.open_session("trip", folder=HERE)
    assert second.id != trip.id
    assert history.bring_back(trip.id).title == "trip (restored)"
    history.put_away(second.id)
    third = history.create_session(folder=HERE, title="trip")
    history.rename(trip.id, "trip (restored 2)")
    history.create_session(folder=HERE, title="trip (restored)")
    assert history.bring_back(second.id).title == "trip (restored 3)"
    assert history.find("trip") == third
    long = history.create_session(folder=HERE, title="x" * 200)
    history.put_away(long.id)
    history.create_session(folder=HERE, title="x" * 200)
    assert len(history.bring_back(long.id).title) <= 200


def test_deleted_ones_are_listed_and_named(history: History, trip: Session, clock: Clock) -> None:
    history.put_away(trip.id)
    clock.now += 1
    again = history.create_session(folder=HERE, title="trip")
    history.put_away(again.id)
    assert [each.session.id for each in history.deleted()] == [again.id, trip.id]
    assert history.deleted()[1].messages == 1
    assert len(history.deleted(limit=1)) == 1
    assert history.deleted_session("trip").id == again.id  # the last deleted
    assert history.deleted_session(trip.id.lower()).id == trip.id
    with pytest.raises(SessionNotFound, match="several"):
        history.deleted_session(trip.id[:8])
    for reference in ("harbour", "", trip.id[:3]):
        with pytest.raises(SessionNotFound, match="No deleted session"):
            history.deleted_session(reference)


def test_what_was_deleted_long_ago_is_told(history: History, trip: Session, clock: Clock) -> None:
    other = history.create_session(folder=HERE)
    history.put_away(trip.id)
    at = clock.now
    clock.now += 10
    history.put_away(other.id)
    assert history.expired(at) == []
    assert [each.id for each in history.expired(at + 1)] == [trip.id]
    history.delete(trip.id)
    assert [each.session.id for each in history.deleted()] == [other.id]
    with pytest.raises(SessionNotFound):
        history.bring_back(trip.id)


def test_a_copy_of_a_deleted_session_is_not_deleted(history: History, trip: Session) -> None:
    history.put_away(trip.id)
    assert history.fork(trip.id).deleted is None
    assert history.plant(history.tree(trip.id), folder=HERE).deleted is None


def test_a_draft_is_kept_apart_from_what_was_said(history: History, trip: Session, clock: Clock) -> None:
    assert history.draft(trip.id) == ""
    clock.now += 1000
    history.keep_draft(trip.id, "not yet\nsent \ud800")
    assert history.draft(trip.id) == "not yet\nsent \ufffd"
    assert history.session("trip") == trip  # its place in lists, too
    assert history.overview(trip.id).draft.startswith("not yet")
    assert history.draft(history.fork(trip.id).id) == ""
    assert history.search("sent") == []
    history.keep_draft(trip.id, "")
    assert history.draft(trip.id) == ""


def test_a_draft_of_a_session_that_is_gone_is_no_fault(history: History, trip: Session) -> None:
    history.delete(trip.id)
    history.keep_draft(trip.id, "late")
    assert history.draft(trip.id) == ""


def test_the_name_of_a_deleted_session_may_be_taken_by_rename(history: History, trip: Session) -> None:
    other = history.create_session(folder=HERE)
    with pytest.raises(HistoryError, match="exists"):
        history.rename(other.id, "trip")
    history.put_away(trip.id)
    assert history.rename(other.id, "trip").title == "trip"
