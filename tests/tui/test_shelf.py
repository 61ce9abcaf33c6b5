"""The picker's view of the real history: what is there, and what may be done to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.errors import HistoryError, SessionLocked, SessionNotFound
from skippy_chat.tui.shelf import MOST, HistoryShelf

HERE, THERE = Path("/here"), Path("/there")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


def shelf_of(database: Path) -> HistoryShelf:
    @contextlib.contextmanager
    def opened() -> Iterator[History | None]:
        if not database.exists():
            yield None
            return
        with History.open(database, now=lambda: 1000) as history:
            yield history

    return HistoryShelf(opened, database.parent / "locks", HERE)


@pytest.fixture
def ids(database: Path) -> dict[str, str]:
    made: dict[str, str] = {}
    with History.open(database, now=lambda: 1000) as history:
        for title, folder in (("one", HERE), ("far", THERE), ("two", HERE)):
            made[title] = history.create_session(folder=folder, title=title).id
            history.append(made[title], None, "user", f"about {title}")
    return made


def titles(shelf: HistoryShelf, text: str = "") -> list[str]:
    return [each.overview.session.title for each in shelf.found(text)]


def test_this_folder_comes_first(database: Path, ids: dict[str, str]) -> None:
    shelf = shelf_of(database)
    assert shelf.folder == "/here"
    assert titles(shelf) == ["two", "one", "far"]
    assert titles(shelf, "about far") == ["far"]


def test_naming_copying_deleting_and_restoring(database: Path, ids: dict[str, str]) -> None:
    shelf = shelf_of(database)
    assert shelf.rename(ids["one"], "uno").title == "uno"
    with pytest.raises(HistoryError, match="exists"):
        shelf.rename(ids["one"], "two")
    copy = shelf.fork(ids["one"])
    assert [each.overview.messages for each in shelf.found("") if each.overview.session.id == copy.id] == [1]
    assert shelf.delete(ids["one"]).deleted == 1000
    assert "uno" not in titles(shelf)
    assert shelf.restore(ids["one"]).title == "uno"
    assert "uno" in titles(shelf)


def test_what_was_deleted_comes_back_by_name_or_as_the_last(database: Path, ids: dict[str, str]) -> None:
    shelf = shelf_of(database)
    with pytest.raises(SessionNotFound, match="No session is deleted"):
        shelf.bring_back("")
    shelf.delete(ids["one"])
    shelf.delete(ids["two"])
    assert shelf.bring_back("").title == "two"  # of one moment the later id
    assert shelf.bring_back("one").title == "one"
    with pytest.raises(SessionNotFound, match="No deleted session"):
        shelf.bring_back("one")


def test_a_session_that_is_written_stays(database: Path, ids: dict[str, str]) -> None:
    shelf = shelf_of(database)
    with SessionLock(database.parent / "locks", ids["one"]), pytest.raises(SessionLocked):
        shelf.delete(ids["one"])
    assert "one" in titles(shelf)


def test_without_a_history_nothing_is_there_and_none_is_made(database: Path) -> None:
    shelf = shelf_of(database)
    assert shelf.found("") == []
    for act in (shelf.delete, shelf.restore, shelf.fork, shelf.bring_back):
        with pytest.raises(SessionNotFound):
            act("01S")
    assert not database.exists()


def test_a_list_has_an_end(database: Path) -> None:
    with History.open(database, now=lambda: 1000) as history:
        history._connection.execute("PRAGMA synchronous = OFF")
        for number in range(MOST + 5):
            history.create_session(folder=THERE if number % 2 else HERE, title=f"{number}")
    found = shelf_of(database).found("")
    assert len(found) == MOST
    assert found[0].overview.session.folder == "/here"
