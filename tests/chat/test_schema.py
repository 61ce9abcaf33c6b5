from __future__ import annotations

import errno
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.schema import VERSION, telling
from skippy_chat.errors import ConfigError, HistoryError
from tests.chat.clock import Clock


def refused(path: Path) -> HistoryError:
    """Open a file that must be refused, and check that it was left as it was."""
    before = path.read_bytes()
    with pytest.raises(HistoryError) as told:
        History.open(path, now=Clock())
    assert path.read_bytes() == before
    assert str(path) in told.value.message
    assert told.value.hint
    return told.value


@pytest.fixture
def filled(database: Path, clock: Clock) -> Path:
    with History.open(database, now=clock) as history:
        session = history.create_session(folder=Path("/here"))
        for number in range(50):
            history.append(session.id, None, "user", f"{number} " + "words " * 300)
    with sqlite3.connect(database) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    return database


def test_files_are_private(database: Path, history: History) -> None:
    history.create_session(folder=Path("/here"))
    assert stat.S_IMODE(database.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in database.parent.iterdir()} == {0o600}


def test_wal_foreign_keys_and_full_sync_are_on(history: History, database: Path) -> None:
    connection = history._connection
    values = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "foreign_keys", "synchronous", "user_version")
    ]
    assert values == ["wal", 1, 2, VERSION]


def test_a_folder_that_others_can_write_to_is_refused(database: Path) -> None:
    database.parent.mkdir()
    database.parent.chmod(0o770)
    with pytest.raises(ConfigError, match="Others can write"):
        History.open(database, now=Clock())
    assert not database.exists()


def test_a_newer_version_is_refused(filled: Path) -> None:
    with sqlite3.connect(filled) as raw:
        raw.execute(f"PRAGMA user_version = {VERSION + 1}")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    error = refused(filled)
    assert "newer" in error.message
    assert "Update" in error.hint


def test_a_database_of_another_program_is_refused(database: Path) -> None:
    database.parent.mkdir(mode=0o700)
    with sqlite3.connect(database) as raw:
        raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    assert "another program" in refused(database).message


def test_a_file_that_is_no_database_is_refused(database: Path) -> None:
    database.parent.mkdir(mode=0o700)
    for content in (b"hello", b"SQLite format 3\0", os.urandom(100_000)):
        database.write_bytes(content)
        error = refused(database)
        assert "damaged" in error.message
        assert "left as it is" in error.hint


def test_a_folder_in_its_place_is_told(database: Path) -> None:
    database.mkdir(parents=True, mode=0o700)
    database.parent.chmod(0o700)
    with pytest.raises(HistoryError, match="is a folder"):
        History.open(database, now=Clock())


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_database_is_refused(filled: Path, part: float) -> None:
    content = filled.read_bytes()
    assert len(content) > 100_000
    filled.write_bytes(content[: max(200, int(len(content) * part))])
    assert "damaged" in refused(filled).message


def test_damage_found_later_is_told_by_name(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    filled.write_bytes(content)
    with pytest.raises(HistoryError, match="damaged"), History.open(filled, now=Clock()) as history:
        history.sessions()


def test_an_empty_file_becomes_a_database(database: Path, clock: Clock) -> None:
    database.parent.mkdir(mode=0o700)
    database.touch()
    with History.open(database, now=clock) as history:
        assert history.sessions() == []


def test_a_read_only_folder_is_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("skippy_chat.chat.schema.os.open", refuse)
    with pytest.raises(HistoryError, match=r"Cannot open .* Permission denied") as told:
        History.open(database, now=Clock())
    assert "--data-dir" in told.value.hint


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("database is locked", "Another process keeps"),
        ("attempt to write a readonly database", "Cannot write"),
        ("unable to open database file", "Cannot write"),
        ("database or disk is full", "No room"),
        ("database disk image is malformed", "is damaged"),
    ],
)
def test_each_fault_of_sqlite_has_its_mend(database: Path, fault: str, message: str) -> None:
    with pytest.raises(HistoryError, match=message) as told, telling(database):
        raise sqlite3.OperationalError(fault)
    assert str(database) in told.value.message
    assert told.value.hint


def _create(path: Path, number: int) -> None:
    with History.open(path, now=Clock()) as history:
        session = history.open_session("shared", folder=Path("/here"))
        for each in range(10):
            history.append(session.id, None, "user", f"{number} {each}")


def test_several_processes_create_and_fill_it_at_once(database: Path, clock: Clock) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_create, args=(database, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    with History.open(database, now=clock) as history:
        (session,) = history.sessions()
        contents = {each.content for each in history.children(None, session.id)}
    assert contents == {f"{number} {each}" for number in range(4) for each in range(10)}


_ROOT = Path(__file__).parents[2]
_CRASH = """
import os, signal, sys, pathlib
from skippy_chat.chat.history import History
history = History.open(pathlib.Path(sys.argv[1]), now=lambda: 1)
session = history.create_session(folder=pathlib.Path("/here"), title="s")
user = history.append(session.id, None, "user", "question")
answer = history.append(session.id, user.id, "assistant", "", state="interrupted")
history.finish(answer.id, "half an ans", state="interrupted")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_process_keeps_question_and_partial_answer(database: Path, clock: Clock) -> None:
    ended = subprocess.run([sys.executable, "-c", _CRASH, str(database)], check=False, cwd=_ROOT, timeout=60)
    assert ended.returncode == -9
    with History.open(database, now=clock) as history:
        session = history.session("s")
        branch = history.branch(history.head(session.id))
    assert [(each.role, each.content, each.state) for each in branch] == [
        ("user", "question", "complete"),
        ("assistant", "half an ans", "interrupted"),
    ]


# As the first version made it, word for word: people have such histories.
FIRST_VERSION = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, folder TEXT NOT NULL, title TEXT NOT NULL, created INTEGER NOT NULL,
    updated INTEGER NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL);
CREATE UNIQUE INDEX sessions_title ON sessions (title) WHERE title != '';
CREATE INDEX sessions_updated ON sessions (updated);
CREATE INDEX sessions_folder ON sessions (folder, updated);
CREATE TABLE messages (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent TEXT, role TEXT NOT NULL, raw TEXT NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL,
    UNIQUE (session, id),
    FOREIGN KEY (session, parent) REFERENCES messages (session, id) DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX messages_parent ON messages (session, parent);
CREATE TABLE heads (
    session TEXT NOT NULL, name TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (session, name),
    FOREIGN KEY (session, message) REFERENCES messages (session, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE ledger (
    message TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE, identity TEXT NOT NULL,
    base TEXT REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED, shared INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, ids BLOB NOT NULL, cuts BLOB NOT NULL, sampled BLOB NOT NULL,
    sampling TEXT NOT NULL,
    PRIMARY KEY (message, identity));
CREATE INDEX ledger_base ON ledger (base, identity) WHERE base IS NOT NULL;
CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO sessions VALUES ('01S', '/here', 'trip', 1, 2, 'default', '{"temperature": 0.5}');
INSERT INTO messages VALUES (1, '01A', '01S', NULL, 'user', '{"content": "Where is the harbour?"}', 'complete', 1);
INSERT INTO messages VALUES (2, '01B', '01S', '01A', 'assistant', '{"content": "In Brest."}', 'complete', 2);
INSERT INTO heads VALUES ('01S', 'main', '01B');
INSERT INTO search (rowid, text) VALUES (1, 'Where is the harbour?'), (2, 'In Brest.');
PRAGMA application_id = 1397442896;
PRAGMA user_version = 1;
"""


def test_a_history_of_the_first_version_lives_on(database: Path, clock: Clock) -> None:
    database.parent.mkdir(mode=0o700)
    with sqlite3.connect(database) as raw:
        raw.executescript(FIRST_VERSION)
    raw.close()
    with History.open(database, now=clock) as history:
        (session,) = history.sessions()
        assert (session.id, session.title, session.settings) == ("01S", "trip", {"temperature": 0.5})
        assert [each.content for each in history.branch(history.head("01S"))] == [
            "Where is the harbour?",
            "In Brest.",
        ]
        assert [hit.message for hit in history.search("HARBOUR")] == ["01A"]
        history.keep_draft("01S", "And then?")
        history.put_away("01S")
        assert history.sessions() == []
        history.create_session(folder=Path("/here"), title="trip")  # the old index on names would refuse it
    with History.open(database, now=clock) as history:
        assert history.bring_back("01S").title == "trip (restored)"
        assert history.draft("01S") == "And then?"


def test_looking_in_while_it_is_open_takes_no_locks_away(database: Path, clock: Clock) -> None:
    """A file that a process opens and closes by itself costs that process its locks on it, SQLite's too.

    Another program then takes itself for the last one, and removes the log from under those who write.
    """
    with History.open(database, now=clock) as history:
        history.create_session(folder=Path("/here"), title="first")
        History.open(database, now=clock).close()
        other = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM sessions'); c.close()"
        subprocess.run([sys.executable, "-c", other, str(database)], check=True, timeout=60)
        assert database.with_name("history.db-wal").exists()
        history.create_session(folder=Path("/here"), title="second")
        assert len(history.sessions()) == 2
