"""What of the history this process has open, so that it does not open the file by hand meanwhile.

A process that closes a file loses every lock that it has on it (POSIX), those of SQLite included. Another program then
takes itself for the last one, and removes the log from under a conversation that goes on writing.

Invariant: while a connection is open, or is being opened, nobody opens or closes the file but SQLite, which knows.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_opening = threading.RLock()
_open: Counter[str] = Counter()


class HeldConnection(sqlite3.Connection):
    """A connection that is counted until it is closed; one that never is stays counted, which is the safe side."""

    held = ""

    def close(self) -> None:
        """Close it; safe to call twice."""
        with _opening:
            super().close()
            held, self.held = self.held, ""
            if held:
                _open[held] -= 1


def connected(path: Path, timeout: float, by_hand: Callable[[], None]) -> HeldConnection:
    """Connect to the database at ``path``; ``by_hand`` may open and close its file before, where that is no harm."""
    key = os.path.realpath(path)
    with _opening:
        if not _open[key]:
            by_hand()
        # Autocommit: every transaction in this package is begun by hand.
        connection = sqlite3.connect(
            path, timeout=timeout, isolation_level=None, check_same_thread=False, factory=HeldConnection
        )
        connection.held = key
        _open[key] += 1
        return connection
