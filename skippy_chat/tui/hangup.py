"""A terminal that goes away: noticed by asking for it, because the signal may not come, or come to a blocked app.

Textual's writer ends with the terminal, and the app then waits for it for ever. So a thread of our own looks; what it
finds, it acts on without the app.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable

_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL
_LOOK_EVERY_MS = 500


class HangUpWatch:
    """Calls ``act`` once, from its own thread, when the terminal behind ``descriptor`` is gone."""

    def __init__(self, descriptor: int, act: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._act = act
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hang-up", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; safe to call twice."""
        self._stopped.set()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, 0)
        while not self._stopped.is_set():
            if any(event & _GONE for _, event in poll.poll(_LOOK_EVERY_MS)):
                if not self._stopped.is_set():
                    self._act()
                return
