"""Rows of the tables ``messages`` and ``heads``, within the caller's lock and transaction."""

from __future__ import annotations

import sqlite3
from typing import Any

from skippy_chat.chat import searching
from skippy_chat.chat.messages import Message
from skippy_chat.errors import HistoryError

_COLUMNS = "id, session, parent, role, raw, state, created"
_UP = (
    "WITH RECURSIVE up (at, depth) AS (SELECT ?, 0 UNION ALL"
    " SELECT parent, depth + 1 FROM up JOIN messages ON id = at WHERE parent IS NOT NULL)"
)


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
    searching.index(connection, message)


def update(connection: sqlite3.Connection, message: Message) -> None:
    """Replace what a message holds; its place in the tree stays."""
    connection.execute(
        "UPDATE messages SET raw = ?, state = ? WHERE id = ?", (message.raw_json(), message.state, message.id)
    )
    searching.index(connection, message)


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
