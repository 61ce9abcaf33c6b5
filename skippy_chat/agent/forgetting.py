"""Removing sessions for good, with all that was kept for them: messages, what tools wrote, checkpoints.

Invariant: messages go first, in one transaction each; what is left over of the rest costs room, and is no way back to
what was said. A session that somebody writes stays.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.trash import KEPT_MS
from skippy_chat.checkpoints.release import release
from skippy_chat.errors import SessionLocked, SkippyError
from skippy_chat.paths import Paths


def forget_sessions(history: History, paths: Paths, sessions: Sequence[str]) -> int:
    """Remove sessions (by id), whose locks are held or free, and return the bytes of checkpoints that this freed.

    Before-images of files stay, within their bound, since a copy of a session may undo with them.

    Raises:
        HistoryError: the database cannot be written.
    """
    gone = history.prompts_of(sessions)
    for session in sessions:
        history.delete(session)
        shutil.rmtree(paths.tool_output_dir / session, ignore_errors=True)
    freed = 0
    for identity, prompts in gone.items():
        # Optional work: what cannot be freed now is evicted when its room is needed.
        with contextlib.suppress(SkippyError, OSError):
            freed += release(paths.checkpoints_dir, identity, prompts, history.prompts_with(identity))
    return freed


def forget_expired(history: History, paths: Paths, now_ms: int) -> int:
    """Remove the sessions that were deleted 30 days ago or earlier, and return how many; nothing is raised."""
    removed = 0
    with contextlib.suppress(SkippyError):
        for session in history.expired(now_ms - KEPT_MS):
            with contextlib.suppress(SessionLocked), SessionLock(paths.locks_dir, session.id):
                forget_sessions(history, paths, [session.id])
                removed += 1
    return removed
