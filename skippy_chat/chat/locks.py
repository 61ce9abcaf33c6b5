"""One writer per session, across processes.

Invariant: the lock belongs to the operating system, so it ends with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import final

from skippy_chat.errors import SessionLocked
from skippy_chat.paths import make_private


@final
class SessionLock:
    """The right to write one session, held from creation until ``close``.

    Raises:
        SessionLocked: another process, or another holder in this one, writes the session.
        ConfigError: the folder of the locks cannot be made.
    """

    def __init__(self, locks_dir: Path, session: str) -> None:
        """``session`` is an id."""
        # Only who writes pays for it: listing sessions does not.
        from filelock import FileLock, Timeout  # noqa: PLC0415

        path = make_private(locks_dir) / f"{session}.lock"
        # Not per thread: a face may close what another thread opened.
        self._lock = FileLock(path, timeout=0, mode=0o600, thread_local=False)
        self._writer = path.with_suffix(".pid")
        try:
            self._lock.acquire()
        except Timeout as error:
            writer = _pid_in(self._writer)
            who = "Another skippy-chat" if writer is None else f"Another skippy-chat (process {writer})"
            raise SessionLocked(
                f"{who} writes session {session}.",
                f"Wait until it has ended, go on in a copy (skippy-chat sessions fork {session}),"
                " or begin another session with --new.",
                session,
                writer,
            ) from error
        # Beside the lock file, not in it: who asks for the lock may empty that. Only told to people, so never fatal.
        with contextlib.suppress(OSError):
            self._writer.unlink(missing_ok=True)
            self._writer.write_text(f"{os.getpid()}\n")

    def close(self) -> None:
        """Let the session go; safe to call twice."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._writer.unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> SessionLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _pid_in(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
