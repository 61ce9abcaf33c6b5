"""Keys while an answer streams: Ctrl-C and Esc stop it, everything else waits for the next prompt.

Invariant: nothing typed is lost, and a paste stays one paste: what is not a stop key goes, parsed, to the prompt's own
typeahead. The terminal is put back as it was whatever ends the answer.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Iterator
from types import TracebackType

from prompt_toolkit.input.base import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.base import Output

from skippy_chat.interrupts import StopOnInterrupt

_ESCAPE_WAIT = 0.1
# Hands that are typing ahead leave no longer gaps; a question waits for one.
_QUIET = 0.5


@contextlib.contextmanager
def set_aside(keyboard: Input) -> Iterator[bool]:
    """Keep what was typed ahead from a question; it waits for the next prompt. Gives False: nobody stopped anything."""
    kept = get_typeahead(keyboard)
    try:
        yield False
    finally:
        store_typeahead(keyboard, [*kept, *get_typeahead(keyboard)])


class BusyKeys:
    """Watch the keyboard in a thread while entered, but for pauses in which something is asked."""

    def __init__(
        self, keyboard: Input, screen: Output, interrupt: StopOnInterrupt, raw: contextlib.ExitStack
    ) -> None:
        """``raw`` gets the terminal's raw mode, and is closed only where the answer ends in an error."""
        self._raw = raw
        self._keyboard = keyboard
        self._screen = screen
        self._interrupt = interrupt
        self._open = contextlib.ExitStack()
        self._watching = contextlib.ExitStack()
        self._pressed = threading.Event()
        # What the prompt before had left over was typed ahead as well.
        self._kept: list[KeyPress] = get_typeahead(keyboard)

    def __enter__(self) -> StopOnInterrupt:
        stack = self._open
        stack.enter_context(self._interrupt)
        self._raw.enter_context(self._keyboard.raw_mode())
        stack.callback(self._release)
        self._begin()
        return self._interrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        if kind is not None:
            self._raw.close()

    @contextlib.contextmanager
    def paused(self) -> Iterator[bool]:
        """Leave the keyboard to a question once nobody has typed for a moment; give whether a stop key was pressed.

        What was typed before it, and what the question leaves over, waits for the next prompt all the same.
        """
        self._pressed.clear()
        while True:
            while not self._interrupt.fired and self._pressed.wait(_QUIET):
                self._pressed.clear()
            self._watching.close()
            if self._interrupt.fired or not self._pressed.is_set():
                break
            self._pressed.clear()  # something was typed at the last moment
            self._begin()
        try:
            yield self._interrupt.fired
        finally:
            self._kept += get_typeahead(self._keyboard)
            self._begin()

    def _begin(self) -> None:
        # A question that was asked in between has ended it.
        self._screen.enable_bracketed_paste()
        self._screen.flush()
        wake_read, wake_write = os.pipe()
        thread = threading.Thread(target=self._watch, args=(wake_read,), name="keys", daemon=True)
        thread.start()

        def ended() -> None:
            os.close(wake_write)
            thread.join()
            os.close(wake_read)

        self._watching.callback(ended)

    def _release(self) -> None:
        self._watching.close()
        self._screen.disable_bracketed_paste()
        self._screen.flush()
        store_typeahead(self._keyboard, self._kept)

    def _watch(self, wake: int) -> None:
        keyboard = self._keyboard.fileno()
        while True:
            ready, _, _ = select.select([keyboard, wake], [], [])
            if wake in ready:
                self._drain(keyboard)
                return
            keys = self._keyboard.read_keys()
            self._pressed.set()
            if not keys or self._keyboard.closed:
                # An Esc may be the start of a longer key; only silence tells.
                if select.select([keyboard], [], [], _ESCAPE_WAIT)[0] and not self._keyboard.closed:
                    continue
                keys = self._keyboard.flush_keys()
            self._take(keys)
            if self._keyboard.closed:
                return

    def _drain(self, keyboard: int) -> None:
        """Take what is there by now: whatever reads the keyboard next would think it was typed for it."""
        while not self._keyboard.closed and select.select([keyboard], [], [], 0)[0]:
            self._take(self._keyboard.read_keys() or self._keyboard.flush_keys())
            self._pressed.set()

    def _take(self, keys: list[KeyPress]) -> None:
        if keys and keys[-1].key is Keys.Escape:
            keys = keys[:-1]
            self._interrupt.stop()
        for key in keys:
            if key.key is Keys.ControlC:
                self._control_c()
            elif key.key not in {Keys.CPRResponse, Keys.Ignore}:
                self._kept.append(key)

    def _control_c(self) -> None:
        if self._interrupt.fired:
            os.kill(os.getpid(), signal.SIGINT)
        self._interrupt.stop()
