"""Questions that a worker answers on a thread of their own, so that none waits behind an answer.

Invariant: what answers runs on one thread, and never after ``close`` has returned.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

Frame = dict[str, Any]


class Lookups:
    """Frames are answered in the order in which they came."""

    def __init__(self, answer: Callable[[Frame], None]) -> None:
        self._answer = answer
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lookups", daemon=True)
        self._closed = threading.Event()

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def add(self, frame: Frame) -> None:
        """Take in a question; after ``close`` nobody waits for it any more."""
        self._frames.put(frame)

    def close(self) -> None:
        """Answer nothing more, and wait for the end of what is being answered."""
        self._closed.set()
        self._frames.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (frame := self._frames.get()) is not None and not self._closed.is_set():
            self._answer(frame)
