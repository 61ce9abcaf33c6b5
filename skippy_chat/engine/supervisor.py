"""An engine that may die: started again when it is next needed, a limited number of times.

Invariant: the conversation is told a death once, by ``EngineDied`` from the turn it cost or by a notice in the next;
after ``DEATHS`` in a row without a finished step between them, nothing is started any more. Side requests hear of a
death as well, but neither count it nor start anything.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import overload

from skippy_chat.engine.client import EngineClient, OnProgress
from skippy_chat.engine.protocol import LoadReply, LoadRequest, ReplayRequest, StepReply, StepRequest
from skippy_chat.engine.questions import (
    CheckpointTree,
    Foreseen,
    ForeseeQuestion,
    Measured,
    MeasureQuestion,
    Question,
    Told,
    TreeQuestion,
)
from skippy_chat.errors import EngineDied
from skippy_chat.events import Event, Notice

DEATHS = 3
_TELL_EVERY = 5.0
_GO_ON = "Nothing stored is lost: the next turn starts it again and resumes from disk."
_STOPPED = (
    "That was the third time in a row, so it is not started again. Nothing stored is lost: open the session anew, "
    "perhaps with a smaller --ctx or another model."
)


class Supervisor:
    """A worker process with its model, over any number of worker processes.

    For one thread, the conversation's; ``aside``, ``ask`` and ``cancel`` are for any.
    """

    def __init__(
        self,
        start: Callable[[], EngineClient],
        request: LoadRequest,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``start`` starts a worker; ``request`` is what each of them loads."""
        self._start = start
        self._request = request
        self._clock = clock
        self._client: EngineClient | None = None
        self._loaded: LoadReply | None = None
        self._deaths = 0
        self._last: EngineDied | None = None
        self._cancelled = threading.Event()
        self._unread: Generator[Event | StepReply, None, None] | None = None

    @property
    def loaded(self) -> LoadReply:
        """What was loaded, by the last worker that got so far."""
        assert self._loaded is not None, "opened before it is used"
        return self._loaded

    @property
    def pid(self) -> int | None:
        """Process id of the worker, if there is one."""
        return None if self._client is None else self._client.pid

    def open(self, on_progress: OnProgress) -> LoadReply:
        """Start the first worker and load the model.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        for item in self._load():
            if isinstance(item, LoadReply):
                return item
            on_progress(*item)
        raise AssertionError("loading ends with a reply or an error")

    def begin(self) -> None:
        """Forget earlier wishes to stop: a turn begins."""
        self._cancelled.clear()

    def ready(self) -> Iterator[Event]:
        """Have a worker with the model, telling what had to be done for it; none when that was cancelled.

        Raises:
            SkippyError: as the new worker said; EngineDied when it is gone, or none is started any more.
        """
        if self._client is not None and not self._client.alive:
            # It died between two turns: that cost nobody anything, and is told in passing.
            told = self._count(self._client.death())
            yield Notice(level="warning", text=told.message)
        if self._deaths >= DEATHS:
            assert self._last is not None
            raise self._last
        if self._client is None:
            try:
                yield from self._start_again()
            except EngineDied as death:
                raise self._count(death) from death

    def run(self, request: StepRequest | ReplayRequest) -> Generator[Event | StepReply, None, None]:
        """Run a step on the worker that is ``ready``; the reply comes last.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        client = self._client
        assert client is not None, "made ready before"
        if self._unread is not None:
            self._unread.close()  # an iterator that somebody still holds, though its turn is over
        try:
            self._unread = client.run(request)
            with contextlib.closing(self._unread) as items:
                for number, item in enumerate(items):
                    if number == 0 and self.cancelled:
                        client.cancel()  # the wish may have come before there was a request to stop
                    if isinstance(item, StepReply):
                        self._deaths = 0
                    yield item
        except EngineDied as death:
            raise self._count(death) from death

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        """Run a side request on the worker there is; the reply comes last. Closing the iterator stops it.

        It waits until the conversation asks nothing, and gives way and is asked again when the conversation does: each
        attempt has its own events, up to its ``StepFinished``. It is refused where it would cost the conversation a
        prefill.

        Raises:
            EngineDied: there is no worker now, or it ended; the conversation takes note of that by itself.
            SkippyError: as the worker said; CheckpointError when it was refused.
        """
        client = self._client
        if client is None:
            raise EngineDied("There is no worker for a side request.", "The next turn starts one.")
        while True:
            with contextlib.closing(client.run(request, aside=True)) as items:
                for item in items:
                    if isinstance(item, StepReply) and item.gave_way:
                        break
                    yield item
                else:
                    return

    @overload
    def ask(self, question: ForeseeQuestion) -> Foreseen: ...
    @overload
    def ask(self, question: TreeQuestion) -> CheckpointTree: ...
    @overload
    def ask(self, question: MeasureQuestion) -> Measured: ...
    def ask(self, question: Question) -> Told:
        """Ask the worker there is about the cache; nothing waits for it, and it waits for no step. From any thread.

        Raises:
            EngineDied: there is no worker now, or it ended; the conversation takes note of that by itself.
            SkippyError: as the worker said.
        """
        client = self._client
        if client is None:
            raise EngineDied("There is no worker to ask.", "The next turn starts one.")
        return client.ask(question)

    @property
    def cancelled(self) -> bool:
        """Whether the turn was asked to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop the turn; safe from any thread. What runs aside goes on."""
        self._cancelled.set()
        client = self._client
        if client is not None:
            client.cancel()

    def close(self) -> None:
        """Let the worker finish recording and end; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _start_again(self) -> Iterator[Event]:
        yield Notice(text="The model's process is started again.")
        began = told = self._clock()
        for item in self._load():
            now = self._clock()
            if isinstance(item, LoadReply):
                yield Notice(text=f"The model is loaded again, after {now - began:.1f} seconds.")
            elif self.cancelled:
                break
            elif now - told >= _TELL_EVERY:
                told = now
                what, done, total = item
                yield Notice(text=f"{what[:1].upper()}{what[1:]}: {done:,} of {total:,}.")

    def _load(self) -> Generator[tuple[str, int, int] | LoadReply, None, None]:
        """Start a worker and load; whatever ends this early ends the worker."""
        client: EngineClient | None = None
        try:
            client = self._start()
            for item in client.loading(self._request):
                if isinstance(item, LoadReply):
                    self._loaded, self._client = item, client
                yield item
        finally:
            if client is not None and self._client is not client:
                client.kill()

    def _count(self, death: EngineDied) -> EngineDied:
        """Take note of a death, and say what comes next."""
        client, self._client = self._client, None
        if client is not None:
            client.kill()
        self._deaths += 1
        next_step = _GO_ON if self._deaths < DEATHS else _STOPPED
        self._last = EngineDied(death.message, f"{next_step} {death.hint}".strip(), death.log_tail)
        return self._last
