"""SIGTERM and SIGHUP while something is typed: the prompt ends in order, whatever its loop is doing just then.

An exception that a signal's handler raises in the middle of a callback would be swallowed by the event loop, and the
program would go on without a terminal. Invariant: outside the prompt these signals mean what they meant before.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from prompt_toolkit.application import get_app

from skippy_chat.interrupts import Terminated

_NUMBERS = [signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])]


@contextlib.contextmanager
def ends_in_order() -> Iterator[Callable[[], None]]:
    """Give what the prompt is to call when it runs; a signal that nobody handles, or that is ignored, stays so."""
    handled = {}
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        handled = {number: before for number in _NUMBERS if callable(before := signal.getsignal(number))}

    def running() -> None:
        loop = asyncio.get_running_loop()
        for number in handled:
            loop.add_signal_handler(number, _end, number)

    try:
        yield running
    finally:
        for number, before in handled.items():
            signal.signal(number, before)


def _end(number: int) -> None:
    # One that is ending already has its result.
    with contextlib.suppress(Exception):
        get_app().exit(exception=Terminated(number))
