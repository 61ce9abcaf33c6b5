"""What was typed, kept over sessions and faces."""

from __future__ import annotations

import multiprocessing
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.errors import HistoryError
from skippy_chat.typed_history import LONGEST, MOST, TypedHistory
from tests.chat.clock import Clock


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


@pytest.fixture
def typed(database: Path) -> Iterator[TypedHistory]:
    opened = TypedHistory(database, now=Clock())
    yield opened
    opened.close()


def texts(typed: TypedHistory, words: str = "") -> list[str]:
    return [each.text for each in typed.search(words)]


def test_the_newest_stands_first_and_a_text_typed_again_moves_there(typed: TypedHistory) -> None:
    for text in ("one", "two", "three", "one"):
        assert typed.add(text)
    assert texts(typed) == ["one", "three", "two"]
    assert typed.newest() == ["two", "three", "one"]
    assert typed.newest(2) == ["three", "one"]


def test_all_words_must_stand_in_it_whatever_their_case(typed: TypedHistory) -> None:
    for text in ("Explain the Straße", "explain 100% of_it", "other"):
        typed.add(text)
    assert texts(typed, "STRASSE expl") == ["Explain the Straße"]
    assert texts(typed, "%") == ["explain 100% of_it"]
    assert texts(typed, "explain") == ["explain 100% of_it", "Explain the Straße"]
    assert texts(typed, "explain other") == []


@pytest.mark.parametrize("text", [" secret", "\tsecret", "\nsecret", "", "   ", "x" * (LONGEST + 1)])
def test_what_begins_with_a_space_or_is_a_long_paste_is_not_kept(typed: TypedHistory, text: str) -> None:
    typed.add("before")
    assert not typed.add(text)
    assert texts(typed) == ["before"]


def test_nothing_is_kept_and_no_file_made_where_it_is_turned_off(database: Path) -> None:
    off = TypedHistory(database, now=Clock(), keep=False)
    assert not off.add("text")
    assert off.search("") == []
    off.forget("text")
    assert not database.parent.exists()


def test_two_faces_and_the_sessions_share_one_private_file(database: Path, typed: TypedHistory) -> None:
    with History.open(database, now=Clock()) as history:
        typed.add("from the app")
        other = TypedHistory(database, now=Clock())
        other.add("from the repl")
        assert texts(typed) == ["from the repl", "from the app"]
        other.close()
        assert history.sessions() == []
    assert {stat.S_IMODE(each.stat().st_mode) for each in database.parent.iterdir()} == {0o600}


def test_what_is_forgotten_is_gone_from_the_file(database: Path, typed: TypedHistory) -> None:
    typed.add("the passphrase is plover")
    typed.add("another")
    typed.forget("the passphrase is plover")
    assert texts(typed) == ["another"]
    typed.close()  # the last connection writes everything into the database itself
    assert b"plover" not in b"".join(each.read_bytes() for each in database.parent.iterdir())
    typed.add("more")
    typed.forget("another", "more", "nothing")
    assert texts(typed) == []


def test_the_oldest_go_when_there_are_too_many(database: Path, typed: TypedHistory) -> None:
    typed.add("first")
    connection = typed._connection
    assert connection is not None
    connection.execute("PRAGMA synchronous = OFF")
    connection.executemany(
        "INSERT INTO typed (text, at) VALUES (?, 0)", [(f"text {each}",) for each in range(MOST + 70)]
    )
    for each in range(64):
        typed.add(f"new {each}")
    found = [each.text for each in typed.search("", limit=2 * MOST)]
    assert MOST <= len(found) < MOST + 64
    assert found[0] == "new 63"
    assert "first" not in found


def test_half_a_character_is_kept_as_one_that_can_be_written(typed: TypedHistory) -> None:
    typed.add("a\ud83d")
    assert texts(typed) == ["a\ufffd"]
    typed.forget("a\ud83d")
    assert texts(typed) == []


def test_a_damaged_database_is_told(database: Path, typed: TypedHistory) -> None:
    database.parent.mkdir(mode=0o700)
    database.write_bytes(b"no database")
    with pytest.raises(HistoryError, match="damaged"):
        typed.add("text")
    with pytest.raises(HistoryError, match="damaged"):
        typed.search("")


def _type(path: Path, number: int) -> None:
    typed = TypedHistory(path, now=Clock())
    for each in range(10):
        typed.add(f"{number} {each}")
    typed.close()


def test_several_processes_type_at_once(database: Path, typed: TypedHistory) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_type, args=(database, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 3
    assert set(texts(typed)) == {f"{number} {each}" for number in range(3) for each in range(10)}
