"""One step: a prompt is resumed, read and answered, and every part of it is counted, timed and recorded."""

from __future__ import annotations

import contextlib
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.placement import GRID_TOKENS
from skippy_chat.engine.answering import AnswerReader, ReadAnswer
from skippy_chat.engine.choosing import Chooser
from skippy_chat.engine.lane import Lane
from skippy_chat.engine.planning import PlannedEdge, answer_edges
from skippy_chat.engine.protocol import StepReply
from skippy_chat.engine.recorder import Emit
from skippy_chat.engine.recording import StepRecording
from skippy_chat.engine.resume import Resumed
from skippy_chat.engine.schedule import runs_of
from skippy_chat.errors import NativeError
from skippy_chat.events import (
    CacheUse,
    FinishReason,
    Notice,
    PrefillProgress,
    StepFinished,
    Timings,
    Usage,
)
from skippy_chat.native.context import Context, DecodeAborted

ABORT_AFTER_SECONDS = 2.0
"""How long a batch may go on after a stop, to reach the cut where what was read can be kept."""

OnLogits = Callable[[int, NDArray[np.float32]], None]
"""Called with a position and the logits after the token before it, as they are sampled from."""


class Cancellation:
    """A wish to stop: soon while a prompt is read, between tokens while an answer is written.

    An aborted decode costs a lane its recurrent state. So a prefill first gets the chance to stop at its next cut,
    where what it has read can be recorded; only a long batch is aborted in native code.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wish = threading.Event()
        self._lock = threading.Lock()
        self._reading = False
        self._timer: threading.Timer | None = None

    def request(self, patience: float = ABORT_AFTER_SECONDS) -> None:
        """Ask to stop; safe from any thread. ``patience`` is how many seconds a batch may take to reach its cut."""
        with self._lock:
            self._wish.set()
            if self._reading and self._timer is None:
                self._timer = threading.Timer(patience, self._abort)
                self._timer.daemon = True
                self._timer.start()

    def reset(self) -> None:
        """Forget an earlier wish."""
        with self._lock:
            self._wish.clear()
            self._context.set_cancel(False)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Mark that a prompt is being read, which may be aborted."""
        with self._lock:
            self._reading = True
        try:
            yield
        finally:
            with self._lock:
                self._reading = False
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
                self._context.set_cancel(False)

    @property
    def requested(self) -> bool:
        """Whether the step was asked to stop."""
        return self._wish.is_set()

    def _abort(self) -> None:
        with self._lock:
            if self._reading:
                self._context.set_cancel(True)


@dataclass(slots=True)
class Stopwatch:
    """Seconds on a monotonic clock at which a step's parts ended."""

    started: float
    restored: float = 0.0
    prefilled: float = 0.0
    first_token: float = 0.0


@dataclass(slots=True)
class Step:
    """One step on a lane that has been put where it resumes."""

    context: Context
    lane: Lane
    recording: StepRecording
    cancellation: Cancellation
    resumed: Resumed
    emit: Emit
    clock: Callable[[], float]
    watch: Stopwatch
    on_logits: OnLogits | None = None

    def run(
        self,
        ids: array[int],
        edges: Sequence[PlannedEdge],
        chooser: Chooser,
        reader: AnswerReader,
        max_tokens: int,
    ) -> StepReply:
        """Read ``edges``, the rest of the prompt ``ids``, and answer with at most ``max_tokens`` (0: no limit).

        Raises:
            NativeError: llama.cpp refused, or the grammar allows no token; the lane is empty then.
        """
        before = self.context.counters().n_tokens_decoded
        with contextlib.suppress(DecodeAborted):
            self._prefill(ids, edges)
        complete = self.lane.position == len(ids)
        self.watch.prefilled = self.clock()
        usage = self._count(ids, before, complete=complete)
        if not complete:
            self.recording.stopped_at(self.lane.position)
            return self._finish(usage, ReadAnswer(), "cancelled", array("i"), 0)
        logits = self.lane.logits() if edges else self.resumed.logits
        assert logits is not None, "an exact replay brings its logits"
        self.recording.end_of_prompt(logits if edges else None)
        return self._answer(ids, logits, chooser, reader, max_tokens, usage)

    def _prefill(self, ids: array[int], edges: Sequence[PlannedEdge]) -> None:
        """Read the edges; not all of them when cancelled at a cut."""
        self.recording.reading(edges)
        with self.cancellation.reading():
            for index, planned in enumerate(edges):
                if self.cancellation.requested:
                    return
                self.lane.read(ids, planned, logits=index == len(edges) - 1)
                self.recording.edge_read(planned)
                self.emit(
                    PrefillProgress(done=planned.stop - edges[0].start, total=edges[-1].stop - edges[0].start)
                )

    def _count(self, ids: array[int], before: int, *, complete: bool) -> Usage:
        read = self.context.counters().n_tokens_decoded - before
        usage = Usage(len(ids), self.resumed.position, read, 0, self.lane.position)
        if complete and usage.cached_tokens + usage.prefilled_tokens != usage.prompt_tokens:
            self.emit(
                Notice(
                    level="error",
                    text=f"The token counts do not add up: {usage}.",
                    hint="Please report this.",
                )
            )
        return usage

    def _answer(
        self,
        ids: array[int],
        logits: NDArray[np.float32],
        chooser: Chooser,
        reader: AnswerReader,
        max_tokens: int,
        usage: Usage,
    ) -> StepReply:
        answer = array("i")
        finish: FinishReason | None = None
        while finish is None:
            if self.on_logits is not None:
                self.on_logits(len(ids) + len(answer), logits)
            token = self._next(chooser, logits)
            if not answer:
                self.watch.first_token = self.clock()
            if token is None:
                finish = "stop"
                break
            answer.append(token)
            finish = "stop" if reader.take(token) else self._stops_after(len(answer), max_tokens)
            if finish is None:
                self.lane.feed(token)
                logits = self.lane.logits()
                if len(answer) % GRID_TOKENS == 0:
                    self.recording.grid_reached(self.lane.position)
        said = reader.end()
        if finish == "stop" and said.calls and not said.malformed:
            finish = "tool_calls"
        return self._finish(usage, said, finish, ids + answer, len(ids), chooser.redrawn)

    def _next(self, chooser: Chooser, logits: NDArray[np.float32]) -> int | None:
        try:
            return chooser.next(logits)
        except NativeError:
            # What the lane has read of the answer has no edges yet.
            self.lane.clear()
            raise

    def _stops_after(self, answered: int, max_tokens: int) -> FinishReason | None:
        """Return why the answer ends with its last token unfed, or None to go on."""
        if answered == max_tokens:
            return "length"
        if self.cancellation.requested:
            return "cancelled"
        return "context_full" if self.lane.position == self.context.n_ctx else None

    def _finish(
        self,
        usage: Usage,
        said: ReadAnswer,
        finish: FinishReason,
        ids: array[int],
        prompt_tokens: int,
        redrawn: Sequence[int] = (),
    ) -> StepReply:
        generated = len(ids) - prompt_tokens
        if ids:
            grown = answer_edges(ids, prompt_tokens, self.lane.position)
            self.lane.grow(grown)
            self.recording.end_of_answer(grown)
        watch, now = self.watch, self.clock()
        decode = max(now - watch.first_token, 1e-9) if watch.first_token else 0.0
        timings = Timings(
            restore_ms=_ms(watch.restored - watch.started),
            prefill_ms=_ms(watch.prefilled - watch.restored),
            first_token_ms=_ms((watch.first_token or now) - watch.started),
            decode_ms=_ms(decode),
            tokens_per_second=round((generated - 1) / decode, 2) if generated > 1 else 0.0,
        )
        resumed = self.resumed
        self.emit(
            StepFinished(
                usage=Usage(
                    usage.prompt_tokens,
                    usage.cached_tokens,
                    usage.prefilled_tokens,
                    generated,
                    self.lane.position,
                ),
                cache=CacheUse(resumed.source, resumed.position, resumed.miss, resumed.diverged_at),
                timings=timings,
                finish_reason=finish,
            )
        )
        return StepReply(
            said.text,
            finish,
            ids,
            prompt_tokens,
            runs_of(self.lane.edges) if ids else [],
            reasoning=said.reasoning,
            calls=said.calls,
            malformed=said.malformed,
            redrawn=tuple(redrawn),
        )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
