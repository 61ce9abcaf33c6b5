"""A session as it is stored, to be read while its model is loaded, or while another process writes it.

Invariant: it takes no lock and changes nothing; what it returns is what was durable at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, Session
from skippy_chat.errors import SessionLocked


class StoredSession:
    """The real ``Stored``: see ``agent.protocol``."""

    def __init__(self, history: History, session: str) -> None:
        """Take over ``history``, open on a session by its id.

        Raises:
            SessionNotFound: it was removed meanwhile; ``history`` is closed then.
        """
        self._history = history
        try:
            self._session = history.session(session)
        except BaseException:
            history.close()
            raise

    @property
    def session(self) -> Session:
        """The session as stored."""
        return self._session

    def messages(self) -> Sequence[Message]:
        """Return the current branch, root first."""
        return self._history.branch(self._history.head(self._session.id))

    def siblings(self, message: str) -> Sequence[Message]:
        """Return all versions of a message (itself included), oldest first."""
        return self._history.children(self._history.message(message).parent, self._session.id)

    def close(self) -> None:
        """Stop reading; safe to call twice."""
        self._history.close()


class HeldSession(StoredSession):
    """The real ``Held``: see ``agent.protocol``."""

    def __init__(self, history: History, locked: SessionLocked) -> None:
        """Take over ``history``, open on the session that ``locked`` was raised for.

        Raises:
            SessionNotFound: it was removed meanwhile; ``history`` is closed then.
        """
        super().__init__(history, locked.session)
        self.writer = locked.writer
