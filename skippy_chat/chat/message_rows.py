"""Rows of the tables ``messages``, ``heads`` and ``search``, within the caller's lock and transaction."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.chat import session_rows
from skippy_chat.chat.messages import Message, Role, Session
from skippy_chat.errors import HistoryError

_COLUMNS = "id, session, parent, role, raw, state, created"
_UP = (
    "WITH RECURSIVE up (at, depth) AS (SELECT ?, 0 UNION ALL"
    " SELECT parent, depth + 1 FROM up JOIN messages ON id = at WHERE parent IS NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found; ``snippet`` has the found words between ``[`` and ``]``."""

    session: Session
    message: str
    role: Role
    snippet: str
    created: int


def insert(connection: sqlite3.Connection, message: Message) -> None:
    """Add a message; its parent must be in the same session."""
    if message.parent is not None and get(connection, message.parent).session != message.session:
        raise HistoryError(
            f"Message {message.parent} belongs to another session.", "Append to its own session."
        )
    connection.execute(
        f"INSERT INTO messages ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            message.id,
            message.session,
            message.parent,
            message.role,
            message.raw_json(),
            message.state,
            message.created,
        ),
    )
    _index(connection, message)


def update(connection: sqlite3.Connection, message: Message) -> None:
    """Replace what a message holds; its place in the tree stays."""
    connection.execute(
        "UPDATE messages SET raw = ?, state = ? WHERE id = ?", (message.raw_json(), message.state, message.id)
    )
    _index(connection, message)


def get(connection: sqlite3.Connection, message_id: str) -> Message:
    """Return one message, or raise ``HistoryError``."""
    found = where(connection, "id = ?", message_id)
    if not found:
        raise HistoryError(
            f"There is no message {message_id}.", "Show the session: skippy-chat sessions show NAME"
        )
    return found[0]


def where(connection: sqlite3.Connection, condition: str, *values: str | None) -> list[Message]:
    """Return the messages that an SQL condition (from code) selects."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM messages WHERE {condition}", values)  # noqa: S608
    return [_revive(row) for row in rows.fetchall()]


def branch(connection: sqlite3.Connection, message_id: str) -> list[Message]:
    """Return the way from the root to a message, both included."""
    get(connection, message_id)
    rows = connection.execute(
        f"{_UP} SELECT {_COLUMNS} FROM up JOIN messages ON id = at ORDER BY depth DESC",  # noqa: S608
        (message_id,),
    )
    return [_revive(row) for row in rows.fetchall()]


def head(connection: sqlite3.Connection, session: str, name: str) -> str | None:
    """Return the id of the message a head stands on."""
    row = connection.execute(
        "SELECT message FROM heads WHERE session = ? AND name = ?", (session, name)
    ).fetchone()
    return None if row is None else str(row[0])


def set_head(connection: sqlite3.Connection, session: str, name: str, message_id: str | None) -> None:
    """Move a head, or take it away."""
    if message_id is None:
        connection.execute("DELETE FROM heads WHERE session = ? AND name = ?", (session, name))
        return
    if get(connection, message_id).session != session:
        raise HistoryError(f"Message {message_id} belongs to another session.", "Open its own session.")
    connection.execute("INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", (session, name, message_id))


def search(connection: sqlite3.Connection, text: str, folder: Path | None, limit: int) -> list[Hit]:
    """Find messages that have all words of ``text``, best first."""
    words = re.findall(r"\w+", text)
    if not words:
        return []
    # Quoted, so that no word is an operator; the star makes the last a beginning.
    query = " ".join(f'"{word}"' for word in words) + "*"
    rows = connection.execute(
        "SELECT m.id, m.session, m.role, m.created, snippet(search, 0, '[', ']', '…', 12)"
        " FROM search JOIN messages m ON m.number = search.rowid JOIN sessions s ON s.id = m.session"
        " WHERE search MATCH ?1 AND (?2 IS NULL OR s.folder = ?2) ORDER BY search.rank, m.number DESC LIMIT ?3",
        (query, None if folder is None else session_rows.folder_text(folder), limit),
    ).fetchall()
    return [
        Hit(session_rows.get(connection, session), message, role, snippet, created)
        for message, session, role, created, snippet in rows
    ]


def _index(connection: sqlite3.Connection, message: Message) -> None:
    if message.role == "system":
        return  # the same persona in every session would answer every search
    number = connection.execute("SELECT number FROM messages WHERE id = ?", (message.id,)).fetchone()[0]
    connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
    if message.content:
        connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (number, message.content))


def _revive(row: tuple[Any, ...]) -> Message:
    message_id, session, parent, role, raw, state, created = row
    try:
        return Message.from_raw(
            raw,
            message_id=message_id,
            session=session,
            parent=parent,
            role=role,
            state=state,
            created=created,
        )
    except ValueError as error:
        raise HistoryError(
            f"A message in the history is damaged ({error}).",
            "The rest can be read; show or delete the session.",
        ) from error
