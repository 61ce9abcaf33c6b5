"""The stored sessions as the app's picker uses them: found, named, copied, deleted and restored.

Invariant: a session that somebody writes, in this program or another one, is not deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Session
from skippy_chat.chat.searching import Found
from skippy_chat.chat.session_rows import folder_text
from skippy_chat.errors import SessionNotFound

MOST = 200


class Shelf(Protocol):
    """What the app asks of the stored sessions; sessions are named by id. For any thread.

    All but ``found`` raise ``SkippyError``: the session is not there any more, is being written, or the name is taken.
    """

    @property
    def folder(self) -> str:
        """This folder, as sessions hold theirs."""

    def found(self, text: str) -> Sequence[Found]:
        """Return the sessions with all words of ``text``, this folder's first; no words find all."""

    def rename(self, session: str, title: str) -> Session:
        """Give a session another name."""

    def fork(self, session: str) -> Session:
        """Copy a session's current branch into a session of its own."""

    def delete(self, session: str) -> Session:
        """Delete a session; it can be restored."""

    def restore(self, session: str) -> Session:
        """Restore a deleted session; where its name is taken by now, it gets a mark."""

    def bring_back(self, reference: str) -> Session:
        """Restore the deleted session of this name or id; an empty one means the last deleted."""


class HistoryShelf:
    """The real ``Shelf``."""

    def __init__(
        self,
        open_history: Callable[[], AbstractContextManager[History | None]],
        locks_dir: Path,
        folder: Path,
    ) -> None:
        """``open_history`` opens the database, when there is one; ``folder`` is the one whose sessions come first."""
        self._open = open_history
        self._locks_dir = locks_dir
        self._folder = folder
        self.folder = folder_text(folder)

    def found(self, text: str) -> Sequence[Found]:
        """Return the sessions with all words of ``text``, this folder's first."""
        with self._open() as history:
            return [] if history is None else history.found(text, first=self._folder, limit=MOST)

    def rename(self, session: str, title: str) -> Session:
        """Give a session another name."""
        with self._open() as history:
            return _there(history, session).rename(session, title)

    def fork(self, session: str) -> Session:
        """Copy a session's current branch."""
        with self._open() as history:
            return _there(history, session).fork(session)

    def delete(self, session: str) -> Session:
        """Delete a session that nobody writes."""
        with self._open() as history, SessionLock(self._locks_dir, session):
            return _there(history, session).put_away(session)

    def restore(self, session: str) -> Session:
        """Restore a deleted session."""
        with self._open() as history:
            return _there(history, session).bring_back(session)

    def bring_back(self, reference: str) -> Session:
        """Restore the deleted session of this name or id, or the last deleted."""
        with self._open() as history:
            session = _there(history, reference or "that was deleted").bring_back_named(reference)
        if session is None:
            raise SessionNotFound("No session is deleted.", "There is nothing to restore.")
        return session


def _there(history: History | None, session: str) -> History:
    if history is None:
        raise SessionNotFound(f"There is no session {session} any more.", "Nothing is stored.")
    return history
