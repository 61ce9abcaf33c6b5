"""The open database file: its connection, its lock, and how to read and write within them.

Invariant: whatever is written is one transaction, all of it durable or none of it, and what SQLite raises is told as a
``HistoryError``.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from skippy_chat.chat.schema import connect, telling, transaction
from skippy_chat.chat.ulid import UlidSource

if TYPE_CHECKING:
    from typing_extensions import Self


class Database:
    """One open history database, safe to use from several threads and processes at once."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        now: Callable[[], int],
        entropy: Callable[[int], bytes],
    ) -> None:
        self._connection = connection
        self._path = path
        self._now = now
        self._new_id = UlidSource(now, entropy)
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls, path: Path, *, now: Callable[[], int], entropy: Callable[[int], bytes] = os.urandom
    ) -> Self:
        """Open or make the database; ``now`` gives milliseconds since the epoch.

        Raises:
            ConfigError: its folder cannot be made, or others can write to it.
            HistoryError: it is damaged, foreign or newer; it is left as it was.
        """
        return cls(connect(path), path, now, entropy)

    def close(self) -> None:
        """Close the database; safe to call twice."""
        with self._lock, telling(self._path):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, telling(self._path):
            yield self._connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, telling(self._path), transaction(self._connection):
            yield self._connection
