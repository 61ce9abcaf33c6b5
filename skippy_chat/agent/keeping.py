"""What of a session is kept beside what was said: the text in the box, and whether the session itself is worth keeping.

Invariant: a session that was begun and left with nothing said and nothing typed leaves no trace.
"""

from __future__ import annotations

import contextlib

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.errors import HistoryError


class Keeping:
    """The draft of an open session, and its end; for any thread."""

    def __init__(self, history: History, session: Session, *, keep_unused: bool) -> None:
        """Unless ``keep_unused``, a session to which nothing was added is removed at the end."""
        self._history = history
        self._id = session.id
        self._unused = None if keep_unused else history.leaves(session.id)

    @property
    def draft(self) -> str:
        """The text that was typed and not sent."""
        return self._history.draft(self._id)

    def keep_draft(self, text: str) -> None:
        """Keep such a text."""
        self._history.keep_draft(self._id, text)

    def keep(self) -> None:
        """Keep the session, used or not."""
        self._unused = None

    def forget_unused(self) -> None:
        """Remove the session if nothing was added: nobody misses it, and lists have one line less.

        Its lock must be held.
        """
        with contextlib.suppress(HistoryError):
            if self._unused is not None and self._history.leaves(self._id) == self._unused and not self.draft:
                self._history.delete(self._id)
