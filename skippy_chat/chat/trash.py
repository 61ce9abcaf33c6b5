"""Sessions that were deleted: hidden at once, restorable for a while, then removed for good.

Invariant: a deleted session is in no list, is found by no name and by no search; restored it is what it was, but for a
name that somebody else has taken meanwhile.
"""

from __future__ import annotations

import sqlite3

from skippy_chat.chat import searching, session_rows
from skippy_chat.chat.messages import Session
from skippy_chat.errors import SessionNotFound

KEPT_DAYS = 30
KEPT_MS = KEPT_DAYS * 24 * 3600 * 1000
_TITLE_ROOM = 180  # of a title's 200 characters, so that a mark fits behind it
_PREFIX = 6


def put_away(connection: sqlite3.Connection, session_id: str, at: int) -> Session:
    """Mark a session as deleted at ``at`` (milliseconds since the epoch)."""
    if session_rows.get(connection, session_id).deleted is None:
        session_rows.change(connection, session_id, deleted=at)
    return session_rows.get(connection, session_id)


def bring_back(connection: sqlite3.Connection, session_id: str) -> Session:
    """Restore a session; where its name is taken by now, it gets a mark."""
    session = session_rows.get(connection, session_id)
    if session.deleted is not None:
        title, number = session.title, 1
        while title and session_rows.find(connection, title) is not None:
            mark = " (restored)" if number == 1 else f" (restored {number})"
            title, number = session.title[:_TITLE_ROOM].rstrip() + mark, number + 1
        session_rows.change(connection, session_id, title=title, deleted=None)
    return session_rows.get(connection, session_id)


def deleted(connection: sqlite3.Connection, limit: int | None = None) -> list[Session]:
    """Return the deleted sessions, the last deleted first."""
    most = -1 if limit is None else limit
    return session_rows.where(connection, "deleted IS NOT NULL ORDER BY deleted DESC, id DESC LIMIT ?", most)


def look_up(connection: sqlite3.Connection, reference: str) -> Session:
    """Return the deleted session with this title (the last deleted one), id, or start of an id.

    Raises:
        SessionNotFound: none or several fit.
    """
    reference, there = reference.strip(), deleted(connection)
    start = reference.upper()
    for fitting in (
        [each for each in there if each.title == reference][:1],
        [each for each in there if len(start) >= _PREFIX and each.id.startswith(start)],
    ):
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise SessionNotFound(
                f"{reference!r} is the start of several deleted sessions' ids.",
                f"Give more of it: {', '.join(each.id for each in fitting[:5])}.",
            )
    raise SessionNotFound(
        f"No deleted session is called {reference!r}.", "List them: skippy-chat sessions list --deleted"
    )


def expired(connection: sqlite3.Connection, before: int) -> list[Session]:
    """Return the sessions that were deleted before ``before`` (milliseconds since the epoch)."""
    return session_rows.where(connection, "deleted < ? ORDER BY deleted", before)


def remove(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove a session and all that hangs on it."""
    session_rows.get(connection, session_id)
    searching.forget(connection, session_id)
    connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
