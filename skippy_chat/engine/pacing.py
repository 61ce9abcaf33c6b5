"""An answer's events on their way to the pipe: text that comes in quick succession goes as one event.

Whoever reads the pipe wakes up for every event, on a core that computes the next token; no face shows more than thirty
changes a second. Invariant: joined events say what the single ones said, in the order they came; the first word of an
answer is never held back, and nothing is held longer than until the next token.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from skippy_chat.events import Event, ReasoningDelta, TextDelta, ToolCallDelta

EVERY_SECONDS = 1 / 30


class PacedEvents:
    """Passes events on; from any thread."""

    def __init__(
        self, send: Callable[[Event], None], clock: Callable[[], float], every: float = EVERY_SECONDS
    ) -> None:
        """``send`` takes what is to go; ``clock`` gives seconds."""
        self._send = send
        self._clock = clock
        self._every = every
        self._lock = threading.Lock()
        self._held: Event | None = None
        self._sent_at = float("-inf")

    def take(self, event: Event) -> None:
        """Send an event, or hold it until more has come or something else is to be told."""
        with self._lock:
            if (joined := _joined(self._held, event)) is not None:
                self._held = joined
            else:
                self._let_go()
                self._held = event
            if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta):
                self._let_go()
            elif self._clock() - self._sent_at >= self._every:
                self._let_go()
                self._sent_at = self._clock()

    def flush(self) -> None:
        """Send what is held."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._send(held)


def _joined(first: Event | None, second: Event) -> Event | None:
    """Return one event that says what these two say, or None where there is none."""
    if isinstance(first, TextDelta) and isinstance(second, TextDelta):
        return replace(first, text=first.text + second.text)
    if isinstance(first, ReasoningDelta) and isinstance(second, ReasoningDelta):
        return replace(first, text=first.text + second.text)
    if not (isinstance(first, ToolCallDelta) and isinstance(second, ToolCallDelta)):
        return None
    if first.call != second.call or second.name:
        return None
    return replace(first, arguments=first.arguments + second.arguments)
