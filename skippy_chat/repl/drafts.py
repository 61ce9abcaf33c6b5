"""The text at the prompt, kept a moment after it has changed, so that no ended terminal or session loses it.

Invariant: it is kept in the prompt's own thread, and never while a question or an edit is typed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import final

from prompt_toolkit.buffer import Buffer

_AFTER = 1.0  # seconds without a key


@final
class Drafts:
    """Watches a prompt's buffer; ``keep`` is given its text."""

    def __init__(self, buffer: Buffer) -> None:
        self.keep: Callable[[str], object] = lambda _text: None
        self._buffer = buffer
        self._paused = True
        self._due: asyncio.TimerHandle | None = None
        buffer.on_text_changed += self._changed

    def pause(self, *, paused: bool) -> None:
        """Begin or end to watch; what is due no longer is kept no more."""
        self._paused = paused
        self._cancel()

    def keep_now(self) -> None:
        """Keep the text as it stands."""
        if not self._paused:
            self._cancel()
            self.keep(self._buffer.text)

    def _changed(self, _buffer: Buffer) -> None:
        if self._paused:
            return
        self._cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the prompt sets its first text before it runs
            return
        self._due = loop.call_later(_AFTER, self.keep_now)

    def _cancel(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
