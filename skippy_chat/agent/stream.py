"""The events of one open session, numbered in the order in which they are given out."""

from __future__ import annotations

from collections.abc import Callable

from skippy_chat.events import Event, stamp


class EventStream:
    """Numbers events; for the thread that reads the turn."""

    def __init__(
        self, session: str, now_ms: Callable[[], int], on_event: Callable[[Event], None] | None = None
    ) -> None:
        """``now_ms`` gives milliseconds since the epoch; ``on_event`` is told of each event before it is given out."""
        self._session = session
        self._now_ms = now_ms
        self._seq = 0
        self._on_event = on_event

    def own(self, event: Event, turn: str) -> Event:
        """Return an event of ours with its session, turn, time and number."""
        return self.numbered(stamp(event, session=self._session, turn=turn, at_ms=self._now_ms()))

    def numbered(self, event: Event) -> Event:
        """Return an event of the engine, which has all but its number."""
        self._seq += 1
        numbered = stamp(event, seq=self._seq)
        if self._on_event is not None:
            self._on_event(numbered)
        return numbered
