"""Telling a person who looks elsewhere that the answer is there, or that a call waits for them.

Invariant: one alert for each turn's end and one for each question, as far as they are due. To a question, who
looks at another screen looks elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.events import ApprovalNeeded, Event, TurnFinished, TurnStarted
from skippy_chat.notifying import ANSWERED, ASKED, FAILED, Notifier
from skippy_chat.tui.command import Parts


class Alerts:
    """Follows what the app does, and tells through the terminal."""

    def __init__(self, parts: Parts, notifier: Notifier) -> None:
        self._parts = parts
        self._notifier = notifier
        self._since = 0.0
        self._turn = False
        self._waiting = False
        self._text = FAILED

    def began(self) -> None:
        """Be told that a turn, or something else, begins."""
        self._since = self._parts.services.monotonic()
        self._turn = self._waiting = False
        self._text = FAILED

    def heard(self, events: Sequence[Event]) -> None:
        """Be told of a turn's events."""
        for event in events:
            if isinstance(event, ApprovalNeeded):
                self._tell(ASKED)
                self._waiting = True
                continue
            if self._waiting:
                self._waiting = False
                self._since = self._parts.services.monotonic()  # the person's time is no work
            if isinstance(event, TurnStarted):
                self._turn = True
            elif isinstance(event, TurnFinished):
                self._text = ANSWERED
                self._turn = event.finish_reason != "cancelled"  # whoever stops it is looking

    def settled(self) -> None:
        """Be told that something is over; an answer that another message waits behind is not told."""
        if self._turn and not self._parts.turns.busy:
            self._tell(self._text)
            self._turn = False

    def _tell(self, text: str) -> None:
        seconds = self._parts.services.monotonic() - self._since
        app = self._parts.app
        looking = app.app_focus and (text != ASKED or app.screen is app.screen_stack[0])
        self._notifier.tell(text, seconds=seconds, focused=looking)
