"""Search of messages and sessions: with SQLite's index, and without it the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.chat import searching
from skippy_chat.chat.history import History
from tests.chat.clock import Clock

HERE, THERE = Path("/here"), Path("/there")


@pytest.fixture(params=["index", "look"])
def filled(
    request: pytest.FixtureRequest, database: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[History]:
    """A history of three sessions, on an SQLite with FTS5 and on one without."""
    if request.param == "look":
        monkeypatch.setattr(searching, "MODULE", "no_such_module")
    with History.open(database, now=clock) as history:
        history._connection.execute("PRAGMA synchronous = OFF")
        for title, folder, text in (
            ("Café plans", HERE, "We open the harbour wall at noon"),
            ("", HERE, "日本語のテキストを書く"),
            ("far away", THERE, "a harbour with a naïve wall, and walruses"),
        ):
            session = history.create_session(folder=folder, title=title)
            history.append(session.id, None, "system", "be a walrus")
            history.append(session.id, None, "user", text)
            clock.now += 1000
        yield history


def openings(history: History, text: str, folder: Path | None = None, first: Path | None = None) -> list[str]:
    return [each.overview.session.title for each in history.found(text, folder, first=first)]


def test_sessions_are_found_by_title_and_by_message(filled: History) -> None:
    assert openings(filled, "cafe") == ["Café plans"]
    assert openings(filled, "CAFÉ PL") == ["Café plans"]
    assert openings(filled, "walrus") == ["far away"]  # a system prompt is no hit
    assert openings(filled, "naive wall") == ["far away"]
    assert openings(filled, "harbour") == ["far away", "Café plans"]
    assert openings(filled, "harbour walru") == ["far away"]
    assert openings(filled, "harbour unicorn") == []
    assert openings(filled, "") == ["far away", "", "Café plans"]


def test_a_made_title_is_found_too(filled: History) -> None:
    second = filled.sessions(HERE)[0]
    filled.keep_made_title(second.id, "Writing in Kyoto")
    assert [each.overview.session.id for each in filled.found("kyoto")] == [second.id]


def test_text_without_spaces_is_found_in_its_middle(filled: History) -> None:
    assert openings(filled, "テキスト") == [""]
    assert openings(filled, "本語") == [""]
    assert [hit.snippet for hit in filled.search("テキスト")] == ["日本語の[テキスト]を書く"]


def test_this_folder_comes_first_then_titles_then_the_last_used(filled: History, clock: Clock) -> None:
    assert openings(filled, "harbour", first=HERE) == ["Café plans", "far away"]
    assert openings(filled, "harbour", folder=THERE) == ["far away"]
    filled.create_session(folder=HERE, title="harbour")
    clock.now += 1000
    newest = filled.create_session(folder=HERE, title="newest")
    filled.append(newest.id, None, "user", "the harbour again")
    assert openings(filled, "harbour", first=HERE) == ["harbour", "newest", "Café plans", "far away"]


def test_what_was_found_is_shown(filled: History) -> None:
    (found,) = filled.found("noon")
    assert "[noon]" in found.snippet
    assert "".join(text for text, _ in found.pieces) == "We open the harbour wall at noon"
    assert [text for text, hit in found.pieces if hit] == ["noon"]
    (by_title,) = filled.found("plans")
    assert by_title.snippet == ""
    (naive,) = filled.found("NAIVE")
    assert "[naïve]" in naive.snippet


def test_the_newest_message_that_has_the_words_is_shown(filled: History) -> None:
    session = filled.session("far away")
    filled.append(session.id, None, "user", "harbour two")
    found = next(each for each in filled.found("harbour") if each.overview.session.id == session.id)
    assert found.snippet == "[harbour] two"


def test_changed_and_deleted_messages(filled: History) -> None:
    session = filled.session("far away")
    answer = filled.append(session.id, None, "assistant", "partial", state="interrupted")
    filled.finish(answer.id, "something complete")
    assert openings(filled, "partial") == []
    assert openings(filled, "complete") == ["far away"]
    filled.delete(session.id)
    assert openings(filled, "complete") == []
    assert filled.search("complete") == []


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_is_a_query(filled: History, text: str) -> None:
    filled.search(text)
    filled.found(text)


@pytest.mark.parametrize(
    "text",
    [
        '"',
        "'",
        "AND",
        "NOT wall",
        "wall OR",
        "NEAR(a b)",
        "text: wall",
        "wall*",
        "^wall",
        "(",
        "a-b",
        "-",
        "\0",
        "%_",
    ],
)
def test_what_would_be_syntax_is_words(filled: History, text: str) -> None:
    filled.search(text)
    found = openings(filled, text)
    assert ("far away" in found) == (text in {'"', "'", "AND", "wall*", "^wall", "(", "-", "\0", "%_"})


def test_words_in_signs_are_found(filled: History) -> None:
    session = filled.session("far away")
    filled.append(session.id, None, "user", "call do_it(now) from main.py, don't wait")
    for text in ("do_it", "main.py", "do_it(now)", "don't", "don't wai", "“main.py”"):
        assert openings(filled, text) == ["far away"], text


def test_a_letter_written_in_two_ways_is_found_in_both(filled: History) -> None:
    assert openings(filled, "cafe\u0301") == openings(filled, "caf\u00e9") == ["Café plans"]


def test_very_long_queries_cost_no_more_than_their_first_words(filled: History) -> None:
    assert openings(filled, "harbour wall " * 10_000) == ["far away", "Café plans"]


def test_an_index_is_made_anew_after_an_sqlite_without_one_has_written(
    database: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with History.open(database, now=clock) as history:
        session = history.create_session(folder=HERE, title="work")
        history.append(session.id, None, "user", "before")
    _rename_module(database, "fts5", "no_such_module")
    with monkeypatch.context() as patch:
        patch.setattr(searching, "MODULE", "no_such_module")
        with History.open(database, now=clock) as history:
            assert openings(history, "before") == ["work"]
            history.append(session.id, None, "user", "meanwhile")
            assert openings(history, "meanwhile") == ["work"]
    _rename_module(database, "no_such_module", "fts5")
    with History.open(database, now=clock) as history:
        assert openings(history, "meanwhile") == ["work"]
        rows = history._connection.execute("SELECT text FROM search ORDER BY rowid").fetchall()
        assert rows == [("before",), ("meanwhile",)]
        assert history._connection.execute("SELECT * FROM marks").fetchall() == []


def test_opening_changes_nothing_where_the_index_is_there(database: Path, clock: Clock) -> None:
    with History.open(database, now=clock) as history:
        history.create_session(folder=HERE)
        before = history._connection.execute("PRAGMA data_version").fetchone()
        History.open(database, now=clock).close()
        assert history._connection.execute("PRAGMA data_version").fetchone() == before


def _rename_module(database: Path, old: str, new: str) -> None:
    """Make an index's table one of a module that there is not, or back: what another build of SQLite sees."""
    with sqlite3.connect(database) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'search'", (old, new))
    raw.close()
