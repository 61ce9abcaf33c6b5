"""What a session is called: by a person at once, or by the model aside, once there is something to name it after.

Invariant: a title that the program made never takes the place of a person's, and no turn waits for one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

from skippy_chat.agent.titles import SideEngine, make_title
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.errors import SkippyError
from skippy_chat.events import Event


class Nameable(Protocol):
    """The part of a ``Conversation`` that gets it a title."""

    def entitle(self) -> Callable[[], Session] | None:
        """Prepare to have the model name the session; None where there is nothing to ask."""


def name_behind(conversation: Nameable, told: Callable[[Session | None], None]) -> bool:
    """Have a session named in a thread of its own, if it wants a name; say whether that was begun.

    ``told`` is called in that thread at the end: with the session, or with None where nothing came of it. A title is
    optional work: nobody hears of what went wrong.
    """
    try:
        ask = conversation.entitle()
    except SkippyError:
        return False
    if ask is None:
        return False

    def work() -> None:
        named: Session | None = None
        try:
            named = ask()
        except Exception:  # noqa: BLE001 - a traceback would go across the screen
            named = None
        told(named)

    # A daemon: leaving does not wait for a title.
    threading.Thread(target=work, name="title", daemon=True).start()
    return True


class Naming:
    """The session of an open conversation, as it is called by now; for any thread."""

    def __init__(self, history: History, engine: SideEngine, session: Session) -> None:
        self._history = history
        self._engine = engine
        self._session = session
        self._lock = threading.Lock()
        self._asked = False
        self._stopped = threading.Event()

    @property
    def session(self) -> Session:
        """The session as stored."""
        return self._session

    @property
    def wanted(self) -> bool:
        """Whether there is no title, and none was asked for."""
        return not (self._asked or self._session.title or self._session.made_title)

    def begin(self) -> None:
        """Take note that a title is asked for: nobody asks again."""
        self._asked = True

    def rename(self, title: str) -> Session:
        """Give the session a person's title; an empty one takes it away.

        Raises:
            HistoryError: it is taken, or not fit to be one.
        """
        with self._lock:
            self._session = self._history.rename(self._session.id, title)
            return self._session

    def keep(self, settings: Mapping[str, Any]) -> None:
        """Let the session keep these settings; those that are None it keeps no longer."""
        with self._lock:
            if settings:
                self._session = self._history.keep_settings(self._session.id, settings)

    def ask(self, answered: StepRequest) -> Session:
        """Have a title made and keep it; wait for as long as the conversation keeps the model busy.

        One that is stopped keeps nothing: the next one who opens the session asks again.
        """
        title = make_title(self, answered, turn=answered.turn)
        with self._lock:
            if title and not self._stopped.is_set():
                self._session = self._history.keep_made_title(self._session.id, title)
            return self._session

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        """Run a side request until it ends or is stopped."""
        with contextlib.closing(self._engine.aside(request)) as items:
            for item in items:
                if self._stopped.is_set():
                    return
                yield item

    def stop(self) -> None:
        """Stop asking: the conversation ends."""
        self._stopped.set()
