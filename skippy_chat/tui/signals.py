"""SIGTERM and SIGHUP while the app holds the terminal: they end it in order instead of killing it.

Textual restores the terminal when its loop ends and not when a signal kills it, so the loop itself must be told.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable

_BASE = 128


def on_ending_signals(leave: Callable[[int], None]) -> None:
    """Call ``leave`` with the exit code, 128 and the signal's number, when the running loop's process is asked to end.

    Does nothing outside the main thread, or where the loop cannot listen to signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # An ignored signal stays ignored: nohup means it.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, leave, _BASE + int(number))
