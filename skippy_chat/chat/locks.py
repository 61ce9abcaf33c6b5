"""One writer per session, across processes.

Invariant: the lock belongs to the operating system, so it ends with the process, however that ends.
"""

from __future__ import annotations

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
        try:
            self._lock.acquire()
        except Timeout as error:
            raise SessionLocked(
                f"Another skippy-chat writes session {session}.",
                f"Wait until it has ended, go on in a copy (skippy-chat sessions fork {session}),"
                " or begin another session with --new.",
            ) from error

    def close(self) -> None:
        """Let the session go; safe to call twice."""
        self._lock.release()

    def __enter__(self) -> SessionLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
