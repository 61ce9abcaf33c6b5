"""Opening the history database: schema, migrations, and refusing what is not ours.

Invariant: a file that is damaged, foreign or of a newer version is refused untouched.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from skippy_chat.chat import searching
from skippy_chat.chat.holding import connected
from skippy_chat.errors import HistoryError
from skippy_chat.paths import make_private

APPLICATION_ID = 0x534B4950
BUSY_SECONDS = 10.0
_HEADER = b"SQLite format 3\0"

# One entry per version; an entry is never changed after a release, only followed by another.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY, folder TEXT NOT NULL, title TEXT NOT NULL, created INTEGER NOT NULL,
            updated INTEGER NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX sessions_title ON sessions (title) WHERE title != ''",
        "CREATE INDEX sessions_updated ON sessions (updated)",
        "CREATE INDEX sessions_folder ON sessions (folder, updated)",
        # A parent is in the same session. No cascade along parents: its depth is limited, a conversation's is not.
        """CREATE TABLE messages (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
            parent TEXT, role TEXT NOT NULL, raw TEXT NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL,
            UNIQUE (session, id),
            FOREIGN KEY (session, parent) REFERENCES messages (session, id) DEFERRABLE INITIALLY DEFERRED)""",
        "CREATE INDEX messages_parent ON messages (session, parent)",
        """CREATE TABLE heads (
            session TEXT NOT NULL, name TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (session, name),
            FOREIGN KEY (session, message) REFERENCES messages (session, id) ON DELETE CASCADE) WITHOUT ROWID""",
        """CREATE TABLE ledger (
            message TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE, identity TEXT NOT NULL,
            base TEXT REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED, shared INTEGER NOT NULL,
            prompt_tokens INTEGER NOT NULL, ids BLOB NOT NULL, cuts BLOB NOT NULL, sampled BLOB NOT NULL,
            sampling TEXT NOT NULL,
            PRIMARY KEY (message, identity))""",
        "CREATE INDEX ledger_base ON ledger (base, identity) WHERE base IS NOT NULL",
        # The table ``search`` is made by ``searching.prepare``: it holds nothing of its own, and needs FTS5.
    ),
    # What was typed, for searching: of no session, so that deleting one takes nothing away, and of one text one row.
    ("CREATE TABLE typed (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, at INTEGER NOT NULL)",),
    # A deleted session waits, hidden, to be restored, and its name is free meanwhile.
    (
        "ALTER TABLE sessions ADD COLUMN draft TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN deleted INTEGER",
        "DROP INDEX sessions_title",
        "CREATE UNIQUE INDEX sessions_title ON sessions (title) WHERE title != '' AND deleted IS NULL",
        "CREATE INDEX sessions_deleted ON sessions (deleted) WHERE deleted IS NOT NULL",
        "CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    ),
)
VERSION = len(MIGRATIONS)


def connect(path: Path) -> sqlite3.Connection:
    """Open or make the database at ``path``, in WAL mode and of the current version.

    Raises:
        ConfigError: its folder cannot be made, or others can write to it.
        HistoryError: the file is damaged, foreign, newer, or cannot be opened; it is left as it was.
    """
    make_private(path.parent)
    with telling(path):
        connection = connected(path, BUSY_SECONDS, lambda: _look_at(path))
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn what SQLite raises about ``path`` into a ``HistoryError`` with the mend."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise HistoryError(*_told(path, error)) from error
    except OSError as error:
        raise HistoryError(
            f"Cannot open {path}: {error.strerror or error}.", "Mend its rights, or choose --data-dir."
        ) from error


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block as one writing transaction: all of it is durable afterwards, or none of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may already have rolled back by itself (a full disk, for one).
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block whose statements all read the database as it is at one moment, whoever writes meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection, path) < VERSION:
        # Needed once in a database's life, and a third of what opening costs.
        from filelock import FileLock  # noqa: PLC0415

        # Turning WAL on does not wait for other processes that open the new file too; the lock does.
        with FileLock(path.with_name(path.name + ".lock"), timeout=BUSY_SECONDS, mode=0o600):
            connection.execute("PRAGMA journal_mode = WAL")
            _migrate(connection, path)
    connection.execute("SELECT 1 FROM messages LIMIT 1").fetchone()
    searching.prepare(connection)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if mark != APPLICATION_ID and not (empty and mark == 0 and version == 0):
        raise HistoryError(f"{path} is a database of another program.", "Move it away, or choose --data-dir.")
    if version > VERSION:
        raise HistoryError(
            f"{path} was written by a newer skippy-chat (history version {version}, this one knows {VERSION}).",
            "Update skippy-chat, or choose another place with --data-dir. The file was not changed.",
        )
    return version


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):
        for number in range(_version(connection, path), VERSION):
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _look_at(path: Path) -> None:
    """Refuse a damaged file, and make one that is missing."""
    _refuse_damaged(path)
    _make_file(path)


def _make_file(path: Path) -> None:
    # SQLite gives its side files the mode of the database, so 0600 holds for all of them.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _refuse_damaged(path: Path) -> None:
    """Find a truncated file before anything is written to it: SQLite notices only when it reads a lost page."""
    if path.is_dir():
        raise HistoryError(f"{path} is a folder.", "Move it away, or choose --data-dir.")
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or header[:16] != _HEADER:
        raise sqlite3.DatabaseError("not a SQLite database")
    wal = path.with_name(path.name + "-wal")
    if header[24:28] != header[92:96] or (wal.exists() and wal.stat().st_size):
        return  # the page count in the header is not the last word
    page = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
    if path.stat().st_size < expected:
        raise sqlite3.DatabaseError(f"{path.stat().st_size} bytes of {expected}")


def _told(path: Path, error: sqlite3.DatabaseError) -> tuple[str, str]:
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"Another process keeps {path} busy ({text}).", "Wait for it, or end it, and try again."
    if "readonly" in text or "unable to open" in text:
        return f"Cannot write to {path} ({text}).", "Mend its rights and its folder's, or choose --data-dir."
    if "disk I/O error" in text:
        return (
            f"Cannot read or write {path} ({text}).",
            "It is not lost: free some disk space, or mend the disk, and try again.",
        )
    if "full" in text:
        return f"No room to write to {path} ({text}).", "Free some disk space and try again."
    return (
        f"The history {path} is damaged ({text}).",
        f"It was left as it is. Keep a copy, try: sqlite3 '{path}' .recover, or move it away to begin anew.",
    )
