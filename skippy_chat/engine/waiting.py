"""What a worker still has to do, in which order, and what it is to stop.

Requests of the conversation are served in the order they came. Side requests (a title) wait until there are none, and
one that runs gives way when one of the conversation comes: nobody waits for it, somebody waits for that.

Invariant: what is stopped is the request that was named, never the one after it; ``stop`` is called only while that
one runs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

Frame = dict[str, Any]

GIVE_WAY_SECONDS = 0.25
"""How long a batch of a side request may go on to its cut while the conversation waits for it."""


class Waiting:
    """The requests that have come; filled by one thread and emptied by another."""

    def __init__(self, stop: Callable[[float | None], None]) -> None:
        """``stop`` stops what runs, a batch within so many seconds; None leaves them to it."""
        self._stop = stop
        self._changed = threading.Condition()
        self._main: deque[Frame] = deque()
        self._aside: deque[Frame] = deque()
        self._running: Frame | None = None
        self._stopped: set[object] = set()
        self._gave_way = False
        self._closed = False

    def add(self, frame: Frame) -> None:
        """Take in a request."""
        with self._changed:
            aside = is_aside(frame)
            (self._aside if aside else self._main).append(frame)
            if not aside and self._running is not None and is_aside(self._running):
                self._gave_way = True
                self._stop(GIVE_WAY_SECONDS)
            self._changed.notify()

    def next(self) -> Frame | None:
        """Wait for the next request to serve, which runs until this is called again; None when there will be none."""
        with self._changed:
            if self._running is not None:
                self._stopped.discard(self._running.get("id"))
            self._running, self._gave_way = None, False
            self._changed.wait_for(lambda: self._main or self._aside or self._closed)
            if self._closed:
                return None
            self._running = (self._main or self._aside).popleft()
            return self._running

    def cancel(self, number: object) -> Frame | None:
        """Stop a request; one aside that has not begun is taken out and returned, to be answered by the caller.

        One of the conversation's that has not begun is served all the same, and stops at once: it has more to tell.
        """
        with self._changed:
            if self._running is not None and self._running.get("id") == number:
                self._stopped.add(number)
                self._stop(None)
                return None
            found = next((frame for frame in self._aside if frame.get("id") == number), None)
            if found is not None:
                self._aside.remove(found)
            elif any(frame.get("id") == number for frame in self._main):
                self._stopped.add(number)
            return found

    def close(self) -> None:
        """Serve nothing more, and stop what runs."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            self._stop(None)

    @property
    def closed(self) -> bool:
        """Whether nothing more is served."""
        return self._closed

    def gave_way(self) -> bool:
        """Whether what runs is a side request that one of the conversation has stopped."""
        return self._gave_way

    def stop_if_asked(self) -> bool:
        """Stop what runs if that was asked before it could be stopped; return whether it was."""
        with self._changed:
            number = None if self._running is None else self._running.get("id")
            if self._closed or self._gave_way or number in self._stopped:
                self._stop(GIVE_WAY_SECONDS if self._gave_way else None)
                return True
            return False


def is_aside(frame: Frame) -> bool:
    """Whether a request is one that nobody waits for."""
    return bool(frame.get("aside"))
