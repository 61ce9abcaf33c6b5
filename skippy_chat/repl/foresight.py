"""Where an edit would resume, told above the prompt while it is typed.

Invariant: the prompt never waits for it. It is asked in a thread, a moment after the last key, never twice at once, and
of the text as it is then; what comes too late is not shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import final

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer

_AFTER = 0.25  # seconds without a key


@final
class Foresight:
    """Watches a prompt's buffer while ``foresee`` is set; it returns a line for a text, empty for nothing."""

    def __init__(self, buffer: Buffer) -> None:
        self.line = ""
        self._foresee: Callable[[str], str] | None = None
        self._buffer = buffer
        self._due: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None
        # Of its own: a loop that ends waits for the threads that are its.
        self._thread = ThreadPoolExecutor(1, "foresee")
        buffer.on_text_changed += self._changed

    def begin(self, foresee: Callable[[str], str]) -> None:
        """Watch the next prompt."""
        self.end()
        self._foresee = foresee

    def end(self) -> None:
        """Watch no more, and show nothing."""
        self._foresee, self.line = None, ""
        if self._due is not None:
            self._due.cancel()
        self._due = self._asking = None

    def _changed(self, _buffer: Buffer) -> None:
        if self._foresee is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the prompt sets its first text before it runs
            return
        if self._due is not None:
            self._due.cancel()
        self._due = loop.call_later(_AFTER, self._ask)

    def _ask(self) -> None:
        self._due = None
        if self._asking is None and self._foresee is not None:
            self._asking = asyncio.get_running_loop().create_task(self._asked(self._foresee))

    async def _asked(self, foresee: Callable[[str], str]) -> None:
        text, loop = None, asyncio.get_running_loop()
        while text != self._buffer.text and self._foresee is foresee:
            text = self._buffer.text
            line = await loop.run_in_executor(self._thread, foresee, text) if text.strip() else ""
            if self._foresee is foresee:
                self.line = line
                get_app().invalidate()
        self._asking = None
