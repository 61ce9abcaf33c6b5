"""A side question on its way: asked in a thread of its own, so that the script goes on.

Invariant: what goes wrong is told by ``result`` and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from skippy_chat.agent.asides import SideAnswer
from skippy_chat.api.reply import Reply, Step
from skippy_chat.errors import UsageError


class Aside:
    """The answer to a side question, or what stands against one, as soon as it is there."""

    def __init__(self, ask: Callable[[], SideAnswer]) -> None:
        """Begin to ask."""
        self._ask = ask
        self._reply: Reply | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="aside", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether ``result`` would return, or raise, at once."""
        return not self._thread.is_alive()

    def result(self, timeout: float | None = None) -> Reply:
        """Wait, at most ``timeout`` seconds, and return the answer; its ``message`` is None, since none is stored.

        Raises:
            UsageError: it is not there in time; it can be waited for again.
            EngineDied: there was no model's process, or it ended.
            CheckpointError: it would have cost the conversation a prefill.
            SkippyError: as the model's process said.
        """
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        if self._reply is None:
            raise UsageError("The answer is not there yet.", "Wait longer; a running turn goes first.")
        return self._reply

    def _run(self) -> None:
        try:
            answer = self._ask()
        except Exception as error:  # noqa: BLE001  told in the thread that wants the answer
            self._error = error
            return
        finished = answer.finished
        step = Step(finished.usage, finished.cache, finished.timings, finished.finish_reason)
        self._reply = Reply(
            answer.text, answer.reasoning or None, finished.finish_reason, (step,), finished.usage, None
        )
