"""Looks at the cache beside the conversation's own thread: at most one at a time, and none that is out of date is told.

Invariant: the app never waits for a look, and of each kind only the newest is told, in the app's own thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """What a look found, or ``error``, which nobody need be told; ``took`` is in seconds."""

    found: T | None
    error: Exception | None
    took: float


@dataclass(frozen=True, slots=True)
class _Look:
    kind: str
    number: int
    question: Callable[[], Any]
    take: Callable[[Seen[Any]], object]


class Looks:
    """Asks on a thread of its own, which is there while something waits.

    Args:
        hand_over: has a function called in the app's own thread; may be called from any.
        monotonic: seconds.
    """

    def __init__(
        self, hand_over: Callable[[Callable[[], object]], object], monotonic: Callable[[], float]
    ) -> None:
        self._hand_over = hand_over
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._waiting: dict[str, _Look] = {}
        self._newest: dict[str, int] = {}
        self._working = False

    def ask(self, kind: str, question: Callable[[], T], take: Callable[[Seen[T]], object]) -> None:
        """Have ``question`` asked as soon as no other look is under way; it takes the place of one of its kind."""
        with self._lock:
            number = self._forget(kind)
            self._waiting[kind] = _Look(kind, number, question, take)
            if not self._working:
                self._working = True
                # A daemon, since an engine that hangs must not keep the program from ending.
                threading.Thread(target=self._work, name="looks", daemon=True).start()

    def forget(self, kind: str) -> None:
        """Let nothing be told any more of what was asked."""
        with self._lock:
            self._forget(kind)

    def _forget(self, kind: str) -> int:
        self._waiting.pop(kind, None)
        number = self._newest[kind] = self._newest.get(kind, 0) + 1
        return number

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._working = False
                    return
                look = self._waiting.pop(next(iter(self._waiting)))
            seen = self._seen(look)
            with contextlib.suppress(RuntimeError):  # the app has ended
                self._hand_over(lambda look=look, seen=seen: self._tell(look, seen))  # type: ignore[misc]

    def _seen(self, look: _Look) -> Seen[Any]:
        began = self._monotonic()
        found: Any = None
        error: Exception | None = None
        try:
            found = look.question()
        except Exception as raised:  # noqa: BLE001 - whatever fails in looking concerns nothing else
            error = raised
        return Seen(found, error, self._monotonic() - began)

    def _tell(self, look: _Look, seen: Seen[Any]) -> None:
        if self._newest[look.kind] == look.number:
            look.take(seen)
