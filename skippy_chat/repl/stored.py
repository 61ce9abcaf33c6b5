"""The stored sessions as the REPL lists, finds and deletes them; numbers mean those of the list that was shown last.

Invariant: the history is open only while it is asked, so that the conversation's own view of it is never in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import final

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.chat.searching import Found
from skippy_chat.errors import SessionNotFound

_MOST = 30


@final
class StoredSessions:
    """Sessions of ``folder`` first, then all others."""

    def __init__(self, open_history: Callable[[], AbstractContextManager[History]], folder: Path) -> None:
        """``open_history`` opens the history database for as long as it is entered."""
        self._open = open_history
        self._folder = folder
        self._shown: list[str] = []

    def find(self, words: str) -> Sequence[Found]:
        """Return the sessions that have all words in their title or in a message; no words: those of this folder."""
        with self._open() as history:
            if words:
                found = history.found(words, first=self._folder, limit=_MOST)
            else:
                found = history.found("", self._folder, limit=_MOST)
        self._shown = [each.overview.session.id for each in found]
        return found

    def names(self) -> Sequence[str]:
        """Return the names of this folder's sessions, the last used first."""
        with self._open() as history:
            return [each.title for each in history.sessions(self._folder, _MOST) if each.title]

    def meant(self, argument: str) -> Session | None:
        """Return the session of a number in the list that was shown last, or of a name or id; None: there is none."""
        with self._open() as history:
            if argument.isascii() and argument.isdigit() and 1 <= int(argument[:9]) <= len(self._shown):
                return history.session(self._shown[int(argument[:9]) - 1])
            try:
                return history.session(argument)
            except SessionNotFound:
                return None

    def delete(self, session: str) -> None:
        """Delete a session (by id) so that it can be restored."""
        with self._open() as history:
            history.put_away(session)

    def restore(self, reference: str) -> Session:
        """Restore the deleted session of that name or id; an empty one is the last deleted.

        Raises:
            SessionNotFound: there is none.
        """
        with self._open() as history:
            session = history.bring_back_named(reference)
        if session is None:
            raise SessionNotFound("No session is deleted.", "/sessions lists those there are.")
        return session
