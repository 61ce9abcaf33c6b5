"""skippy-chat itself as one of the compared systems, through the same client that every face uses."""

from __future__ import annotations

import contextlib

from skippy_chat.bench.rig import Rig, Worker
from skippy_chat.bench.systems.system import Asked, Prompt

MAX_TOKENS = 8


class Ours:
    """The product; every checkpoint is recorded without being asked for."""

    name = "skippy-chat"

    def __init__(self, rig: Rig) -> None:
        self.command = "the worker of this command"
        self._rig = rig
        self._stack = contextlib.ExitStack()
        self._worker = self._start()

    def _start(self) -> Worker:
        return self._stack.enter_context(self._rig.worker())

    @property
    def context(self) -> int:
        """Tokens that fit."""
        return self._worker.loaded.context_size

    def ask(self, prompt: Prompt) -> Asked:
        """Answer a prompt."""
        measured = self._worker.step(prompt.dialogue, max_tokens=MAX_TOKENS)
        return Asked(measured.usage.prompt_tokens, measured.usage.cached_tokens, measured.first_seen)

    def keep(self) -> None:
        """Nothing to do."""

    def restart(self) -> None:
        """End the worker and start another."""
        self._stack.close()
        self._worker = self._start()

    def close(self) -> None:
        """End the worker."""
        self._stack.close()
