"""Signals. Ctrl-C during an answer: the first stops the answer and keeps it, the second gives up on waiting for that.

Invariant: a handler never calls the engine itself. It runs in the middle of whatever the main thread is doing, perhaps
inside the engine client's own lock; so the cancel goes out from a thread of its own.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from typing_extensions import Self


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived; ``number`` is which. Not an error: nothing on the way up may catch it."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@contextlib.contextmanager
def ending_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the main thread, so that terminal, engine and locks are put in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    # An ignored signal stays ignored: nohup means it.
    handled = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second one during the clean-up does what it always did.
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)


class StopOnInterrupt:
    """While entered, the first SIGINT calls ``cancel``; outside the main thread signals are left alone.

    Args:
        cancel: stops the answer; called once, from another thread.
        second_kills: a second SIGINT ends the process at once; otherwise it raises KeyboardInterrupt, for faces
            that have a terminal to put right.
    """

    def __init__(self, cancel: Callable[[], None], *, second_kills: bool) -> None:
        self._cancel = cancel
        self._second_kills = second_kills
        self._restore: Callable[[], object] | None = None
        self.fired = False

    def stop(self) -> None:
        """Ask for the answer to end, once."""
        if not self.fired:
            self.fired = True
            threading.Thread(target=self._cancel, name="cancel", daemon=True).start()

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Let SIGINT raise KeyboardInterrupt while entered: what waits for a person must not wait on."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.fired:
            raise KeyboardInterrupt
        if self._second_kills:
            # Set now, not at the second signal: a handler in Python might never get its turn.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.stop()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            previous = signal.signal(signal.SIGINT, self._on_signal)
            self._restore = lambda: signal.signal(signal.SIGINT, previous)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._restore is not None:
            self._restore()
