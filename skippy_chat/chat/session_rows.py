"""Rows of the table ``sessions``: finding, listing and changing them, within the caller's lock and transaction."""

from __future__ import annotations

import difflib
import json
import os
import sqlite3
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.chat.messages import MADE_TITLE, Session
from skippy_chat.errors import HistoryError, SessionNotFound
from skippy_chat.text.scalars import scalar_text

_COLUMNS = "id, title, folder, created, updated, model, settings, deleted"
_PREFIX = 6  # fewer characters of an id say only in which hours it was made
_OPENING = 200


@dataclass(frozen=True, slots=True)
class Overview:
    """What a list shows of a session: its messages on all branches, and the start of its first user message.

    ``draft`` is the start of a text that was typed in it and not sent.
    """

    session: Session
    messages: int
    opening: str
    draft: str = ""


def usable_title(title: str) -> str:
    """Return a title as it is stored.

    Raises:
        HistoryError: it cannot be a name.
    """
    title = title.strip()
    if len(title) > 200 or any(unicodedata.category(each).startswith("C") for each in title):
        raise _no_name()
    return title


def _no_name() -> HistoryError:
    return HistoryError("That cannot be the name of a session.", "Use up to 200 printable characters.")


def folder_text(folder: Path) -> str:
    """Return a folder as it is stored: bytes in its name that are no text become escapes, each its own."""
    return os.fsencode(folder).decode("utf-8", "backslashreplace")


def insert(connection: sqlite3.Connection, session: Session) -> None:
    """Add a session."""
    connection.execute(
        f"INSERT INTO sessions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            session.id,
            session.title,
            session.folder,
            session.created,
            session.updated,
            session.model,
            encode_settings(session.settings),
            session.deleted,
        ),
    )


def get(connection: sqlite3.Connection, session_id: str) -> Session:
    """Return the session with that id, deleted or not, or raise ``SessionNotFound``."""
    found = where(connection, "id = ?", session_id)
    if not found:
        raise SessionNotFound(
            f"There is no session {session_id} any more.", "List them: skippy-chat sessions list"
        )
    return found[0]


def find(connection: sqlite3.Connection, reference: str) -> Session | None:
    """Return the session with exactly this title or, if there is none, this id (in any case).

    Raises:
        HistoryError: bytes that are no text; no session has such a name, and none can.
    """
    title = reference.strip()
    if scalar_text(title) != title:
        raise _no_name()
    kept = "deleted IS NULL"
    found = title and (
        where(connection, f"title = ? AND {kept}", title)
        or where(connection, f"id = ? AND {kept}", title.upper())
    )
    return found[0] if found else None


def look_up(connection: sqlite3.Connection, reference: str) -> Session:
    """Return the session with this title, id, or start of an id, or raise ``SessionNotFound``."""
    found = find(connection, reference)
    if found is not None:
        return found
    start = reference.strip().upper()
    fitting = []
    if len(start) >= _PREFIX and start.isalnum():
        # A range, not LIKE: it uses the key, and no character in it has a meaning.
        fitting = where(
            connection, "id >= ? AND id < ? AND deleted IS NULL ORDER BY id", start, start + "\x7f"
        )
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise SessionNotFound(
            f"{reference!r} is the start of several session ids.",
            f"Give more of it: {', '.join(each.id for each in fitting[:5])}.",
        )
    raise SessionNotFound(f"No session is called {reference!r}.", _closest(connection, reference))


def select(connection: sqlite3.Connection, folder: Path | None, limit: int | None) -> list[Session]:
    """Return sessions of a folder or all, the last used first."""
    order = "ORDER BY updated DESC, id DESC LIMIT ?"
    most = -1 if limit is None else limit
    if folder is None:
        return where(connection, f"deleted IS NULL {order}", most)
    return where(connection, f"folder = ? AND deleted IS NULL {order}", folder_text(folder), most)


def overview(connection: sqlite3.Connection, session: Session) -> Overview:
    """Return what a list shows of a session."""
    count = connection.execute("SELECT count(*) FROM messages WHERE session = ?", (session.id,)).fetchone()[0]
    first = connection.execute(
        "SELECT raw FROM messages WHERE session = ? AND role = 'user' ORDER BY number LIMIT 1",
        (session.id,),
    ).fetchone()
    return Overview(
        session, count, _opening(first[0]) if first else "", draft(connection, session.id)[:_OPENING]
    )


def draft(connection: sqlite3.Connection, session_id: str) -> str:
    """Return the text that was typed in a session and not sent."""
    row = connection.execute("SELECT draft FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return "" if row is None else str(row[0])


def change(connection: sqlite3.Connection, session_id: str, **columns: str | int | None) -> None:
    """Set columns of a session; their names come from code, never from outside."""
    assignments = ", ".join(f"{column} = ?" for column in columns)
    connection.execute(
        f"UPDATE sessions SET {assignments} WHERE id = ?",  # noqa: S608
        (*columns.values(), session_id),
    )


def keep_made_title(connection: sqlite3.Connection, session_id: str, title: str) -> Session:
    """Put a title that the program made beside a session's settings, and return the session."""
    settings = {**get(connection, session_id).settings, MADE_TITLE: title}
    change(connection, session_id, settings=encode_settings(settings))
    return get(connection, session_id)


def encode_settings(settings: Mapping[str, Any]) -> str:
    """Write settings as the column holds them."""
    return json.dumps(dict(settings))


def _opening(raw: str) -> str:
    try:
        text = str(json.loads(raw)["content"])
    except (KeyError, TypeError, ValueError):
        return ""  # a list goes on where one message is damaged
    return " ".join(text[: 4 * _OPENING].split())[:_OPENING]


def where(connection: sqlite3.Connection, condition: str, *values: str | int) -> list[Session]:
    """Return the sessions that an SQL condition (from code) selects."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM sessions WHERE {condition}", values)  # noqa: S608
    return [_revive(row) for row in rows.fetchall()]


def _revive(row: tuple[Any, ...]) -> Session:
    session_id, title, folder, created, updated, model, settings, deleted = row
    try:
        decoded = json.loads(settings)
    except ValueError:
        decoded = None
    # Settings that cannot be read cost a session its settings, not its messages.
    known = decoded if isinstance(decoded, dict) else {}
    return Session(session_id, title, folder, created, updated, model, known, deleted)


def _closest(connection: sqlite3.Connection, reference: str) -> str:
    titles = [
        row[0]
        for row in connection.execute("SELECT title FROM sessions WHERE title != '' AND deleted IS NULL")
    ]
    folded = {title.casefold(): title for title in titles}
    close = difflib.get_close_matches(reference.casefold(), folded, n=3, cutoff=0.5)
    if close:
        return f"Close to it: {', '.join(folded[each] for each in close)}."
    return "List them: skippy-chat sessions list"
