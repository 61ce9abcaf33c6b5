"""The native log: what a worker writes to its standard error, kept in memory for its last words and in a file.

The client holds the reading end. So the last lines before a crash are never lost, two programs that share the file
never show each other's, and none of it reaches a terminal.

Invariant: the file and its predecessors hold at most ``KEPT`` times ``LIMIT_BYTES``, and no control character.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from skippy_chat.text.sanitise import sanitise

LIMIT_BYTES = 5_000_000
KEPT = 3
_LINES = 200
_LINE_BYTES = 4096
# What Python adds when native code crashes: for the file, too long for last words.
_TRACE = "Fatal Python error: "


class RotatingLog:
    """A file that several processes append to; who finds it full moves it on to ``.1``, ``.2``."""

    def __init__(self, path: Path, *, limit: int = LIMIT_BYTES, kept: int = KEPT) -> None:
        """``limit`` is in bytes and for each of the ``kept`` files."""
        self._path = path
        self._limit = limit
        self._kept = kept
        self._file: int | None = None

    def write(self, line: bytes) -> None:
        """Append a line; a log that cannot be written costs its lines, nothing else."""
        try:
            self._follow(len(line))
            if self._file is not None:
                os.write(self._file, line)
        except OSError:
            self.close()

    def close(self) -> None:
        """Let the file go; safe to call twice."""
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def _follow(self, more: int) -> None:
        """Have the file open that bears the name now, with room for ``more`` bytes."""
        if self._file is not None and not self._is_current():
            self.close()
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if os.fstat(self._file).st_size + more > self._limit:
            self._rotate(more)

    def _is_current(self) -> bool:
        assert self._file is not None
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self, more: int) -> None:
        try:
            with FileLock(self._numbered("lock"), timeout=0, mode=0o600):
                # Another process may have done it since.
                if self._path.exists() and self._path.stat().st_size + more > self._limit:
                    for number in range(self._kept - 1, 0, -1):
                        older = self._path if number == 1 else self._numbered(str(number - 1))
                        if older.exists():
                            older.replace(self._numbered(str(number)))
        except Timeout:
            return  # the one who holds the lock is moving it now
        self.close()
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _numbered(self, suffix: str) -> Path:
        return self._path.with_name(f"{self._path.name}.{suffix}")


class LogDrain:
    """Reads a worker's log pipe on a thread of its own until the pipe ends."""

    def __init__(self, pipe: IO[bytes], log: RotatingLog) -> None:
        self._pipe = pipe
        self._log = log
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._thread = threading.Thread(target=self._run, name="worker-log", daemon=True)
        self._thread.start()

    def finish(self, seconds: float) -> bool:
        """Wait until the pipe, of a worker that is gone, is read to its end; tell whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def last_lines(self, count: int) -> tuple[str, ...]:
        """Return the last lines that native code wrote, clean."""
        lines = list(self._lines)
        crash = next((index for index, line in enumerate(lines) if line.startswith(_TRACE)), len(lines))
        return tuple([line for line in lines[:crash] if line.strip()][-count:])

    def _run(self) -> None:
        try:
            for raw in iter(lambda: self._pipe.readline(_LINE_BYTES), b""):
                line = " ".join(sanitise(raw.decode("utf-8", "replace")).splitlines())
                self._lines.append(line)
                self._log.write(f"{line}\n".encode())
        except (OSError, ValueError):
            pass  # closed under us: the client gave up waiting for the end
        finally:
            self._log.close()
