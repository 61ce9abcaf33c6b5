"""Waiting for a person's answer about one call, asked from the thread that runs the turn.

Invariant: a question is open from before its event is given out until it is answered or the turn is cancelled, so that
an answer is never too early, and one that fits no open question changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from skippy_chat.errors import UsageError


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said about a call; ``reason`` goes to the model when it is no."""

    allowed: bool
    scope: str = "once"
    reason: str = ""


class Asking:
    """At most one open question. ``open`` and ``wait`` are for the turn's thread, the others for any."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._call: str | None = None
        self._scopes: tuple[str, ...] = ()
        self._answer: Answer | None = None
        self._cancelled = False

    def begin(self) -> None:
        """Forget an earlier turn's wish to stop."""
        with self._changed:
            self._cancelled = False
            self._call = self._answer = None

    def open(self, call: str, scopes: Sequence[str]) -> None:
        """Open the question about ``call``, an id, before it is told to anybody."""
        with self._changed:
            self._call, self._scopes, self._answer = call, tuple(scopes), None

    def wait(self) -> Answer | None:
        """Wait until the open question is answered, and close it; None when the turn was cancelled."""
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or self._answer is not None)
            answer, self._call, self._answer = self._answer, None, None
            return None if self._cancelled else answer

    def decide(self, call: str, answer: Answer) -> None:
        """Answer the open question.

        Raises:
            UsageError: it is not open, or this answer was not offered; it goes on waiting then.
        """
        with self._changed:
            if self._call != call or self._answer is not None:
                raise UsageError(f"Nothing waits for an answer about the call {call}.", "It went on already.")
            if answer.scope not in self._scopes:
                raise UsageError(
                    f"This call cannot be answered for {answer.scope!r}.",
                    f"Answer one of: {', '.join(self._scopes)}.",
                )
            self._answer = answer
            self._changed.notify_all()

    def cancel(self) -> None:
        """Stop waiting, now and until the next turn begins."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()
