"""What a person typed, over all sessions and faces, to be searched and typed again: a table of the history database.

Both faces call ``add`` with the text of the box as it was sent, and with nothing else: no answer to a question passes
here. The app searches with ``search``; a line reader loads ``newest`` once and searches in it.

Invariant: what begins with a space is never kept, and nothing is where the person turned keeping off; it is theirs
alone (the database's file is 0600), and gone for good when it is forgotten.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from skippy_chat.chat.schema import connect, telling, transaction
from skippy_chat.text.scalars import scalar_text

MOST = 5000  # entries; the oldest go first
LONGEST = 16 << 10  # characters; longer texts are pastes, and stand in their sessions


@dataclass(frozen=True, slots=True)
class TypedText:
    """A text as it was typed; ``at`` is when it was typed last, in milliseconds since the epoch."""

    text: str
    at: int


@final
class TypedHistory:
    """The texts that were typed; safe to use from several threads and processes at once.

    Every method but ``worth_keeping`` raises ``HistoryError`` or ``ConfigError`` where the database cannot be used.
    Nothing is opened before it is needed; a database that does not exist is made by the first ``add``.
    """

    def __init__(self, database: Path, *, now: Callable[[], int], keep: bool = True) -> None:
        """``keep`` is the setting ``typed_history``: without it nothing is added; what is there can be searched."""
        self._database = database
        self._now = now
        self._keep = keep
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the database; safe to call twice."""
        with self._lock, telling(self._database):
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def worth_keeping(self, text: str) -> bool:
        """Tell whether ``add`` keeps a text: not one that begins with a space, is empty, or is very long."""
        return self._keep and bool(text.strip()) and not text[0].isspace() and len(text) <= LONGEST

    def add(self, text: str) -> bool:
        """Keep a text as the newest one, durable on return; tell whether it was kept."""
        if not self.worth_keeping(text):
            return False
        with self._open() as connection, transaction(connection):
            text = scalar_text(text)
            connection.execute("DELETE FROM typed WHERE text = ?", (text,))
            number = connection.execute(
                "INSERT INTO typed (text, at) VALUES (?, ?)", (text, self._now())
            ).lastrowid
            if number is not None and number % 64 == 0:
                self._prune(connection)
        return True

    def search(self, words: str, limit: int = 200) -> list[TypedText]:
        """Return the texts in which all ``words`` stand, whatever their case, the newest first; all for none."""
        wanted = [each.casefold() for each in scalar_text(words).split()]
        found: list[TypedText] = []
        for text, at in self._rows():
            folded = text.casefold()
            if all(each in folded for each in wanted):
                found.append(TypedText(text, at))
                if len(found) == limit:
                    break
        return found

    def newest(self, limit: int = 1000) -> list[str]:
        """Return the newest texts, the oldest of them first, as line readers take them."""
        return [each.text for each in reversed(self.search("", limit))]

    def forget(self, *texts: str) -> None:
        """Remove texts, also from the pages of the file."""
        if self._database.exists():
            with self._open() as connection:
                connection.execute("PRAGMA secure_delete = ON")
                with transaction(connection):
                    gone = [(scalar_text(each),) for each in texts]
                    connection.executemany("DELETE FROM typed WHERE text = ?", gone)

    def _rows(self) -> list[tuple[str, int]]:
        if not self._database.exists():
            return []
        with self._open() as connection:
            rows = connection.execute("SELECT text, at FROM typed ORDER BY number DESC")
            return [(str(text), int(at)) for text, at in rows]

    def _prune(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "DELETE FROM typed WHERE number <= (SELECT number FROM typed ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (MOST,),
        )

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock, telling(self._database):
            if self._connection is None:
                self._connection = connect(self._database)
            yield self._connection
