"""An engine kept between two conversations, so that going from one session to another loads no model again.

Invariant: at most one model is loaded: an engine that the next conversation cannot use ends before another one starts.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import final

from skippy_chat.engine.client import EngineClient, OnProgress
from skippy_chat.engine.protocol import LoadReply, LoadRequest
from skippy_chat.engine.supervisor import Supervisor


@final
class SeatedEngine(Supervisor):
    """An engine that goes back to its seat when its conversation closes it."""

    def __init__(self, start: Callable[[], EngineClient], request: LoadRequest, seat: EngineSeat) -> None:
        super().__init__(start, request)
        self._seat = seat

    def open(self, on_progress: OnProgress) -> LoadReply:
        """Load the model, unless it is loaded from the conversation before.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        return self.loaded if self.pid is not None else super().open(on_progress)

    def close(self) -> None:
        """Go back to the seat; safe to call twice."""
        self._seat.take_back(self)

    def end(self) -> None:
        """Let the worker finish recording and end."""
        super().close()

    def loads(self, request: LoadRequest) -> bool:
        """Tell whether it has loaded what ``request`` asks for; what may be free on the disk by now is no matter."""
        alive = self._client is not None and self._client.alive
        return alive and dataclasses.replace(request, disk_budget=self._request.disk_budget) == self._request


@final
class EngineSeat:
    """Where the engine waits that no conversation uses; for any thread."""

    def __init__(self) -> None:
        self._waiting: SeatedEngine | None = None
        self._closed = False
        self._lock = threading.Lock()

    def engine(self, start: Callable[[], EngineClient], request: LoadRequest) -> SeatedEngine:
        """Return the engine that waits, if it has loaded what is asked for, or else a new one; the other ends."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            if waiting.loads(request):
                return waiting
            waiting.end()
        return SeatedEngine(start, request, self)

    def take_back(self, engine: SeatedEngine) -> None:
        """Keep an engine for the next conversation; once closed, end it."""
        with self._lock:
            before = None
            if not self._closed:
                before, self._waiting = self._waiting, engine
        if before is not None and before is not engine:
            before.end()
        if self._closed:
            engine.end()

    def close(self) -> None:
        """End what waits, and what comes back from now on; safe to call twice."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.end()
