"""The engine: one loaded model, one lane, one checkpoint store; it runs steps one after another.

Invariant: every token that is read or generated follows the schedule that the step's reply reports, so that a
replay of it computes the same sums.
"""

from __future__ import annotations

import contextlib
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.engine.answering import AnswerReader
from skippy_chat.engine.choosing import Chooser, DrawAgain
from skippy_chat.engine.forming import Answering
from skippy_chat.engine.ids import prompt_of_ids
from skippy_chat.engine.lane import Lane, LaneTree
from skippy_chat.engine.planning import PlannedEdge, Prompt, find, remaining
from skippy_chat.engine.protocol import ReplayRequest, StepReply, StepRequest
from skippy_chat.engine.reading_speed import ReadingSpeed
from skippy_chat.engine.recorder import Emit, Recorder
from skippy_chat.engine.recording import StepRecording
from skippy_chat.engine.rendering import Answer, Asked, Renderer, Rendering
from skippy_chat.engine.resume import Resumed, Resumer
from skippy_chat.engine.schedule import edges_from_runs
from skippy_chat.engine.step import ABORT_AFTER_SECONDS, Cancellation, OnLogits, Step, Stopwatch
from skippy_chat.errors import ContextFull
from skippy_chat.events import MissReason, PrefillStarted
from skippy_chat.native.context import Context
from skippy_chat.native.model import Model
from skippy_chat.native.sampler import Sampler


class Engine:
    """Answers prompts; everything but ``cancel`` belongs to one thread."""

    def __init__(
        self,
        model: Model,
        context: Context,
        renderer: Renderer,
        store: CheckpointStore | None,
        *,
        no_store: MissReason | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take over a loaded model; ``no_store`` says why there is no store although one was wanted."""
        self.model = model
        self.context = context
        self.renderer = renderer
        self.store = store
        self.lane = Lane(context)
        self.on_logits: OnLogits | None = None
        self.no_store = no_store or MissReason("off")
        self.speed = ReadingSpeed()
        self._rendering = threading.Lock()
        self._recorder = Recorder()
        self._strayed = False
        self._cancellation = Cancellation(context)
        self._clock = clock

    def cancel(self, patience: float = ABORT_AFTER_SECONDS) -> None:
        """Stop the running step, a batch being read within ``patience`` seconds; safe from any thread."""
        self._cancellation.request(patience)

    def step(self, request: StepRequest, emit: Emit) -> StepReply:
        """Answer a conversation.

        Raises:
            ContextFull: the prompt does not fit, with the numbers.
            NativeError: llama.cpp or the template refused.
        """
        watch = self._begin()
        with self._rendering:
            rendering = self._render(request)
            prompt = rendering.prompt
            self._check_room(len(prompt.ids))
            answering = Answering(self.model, request, rendering, self.renderer, emit, self._clock)
        with answering:
            resumed = self._resume(request, prompt, emit)
            self._strayed = not request.record
            store = self.store if request.record and not _reads_all(request) else None
            step = self._step(watch, resumed, store, emit, len(prompt.ids))
            edges = remaining(prompt, resumed.edges, as_generated=request.replay)
            chooser, reader = answering.chooser, answering.reader
            return self._answer(
                step, prompt.ids, edges, chooser, reader, request.max_tokens, digest=request.digest_logits
            )

    def replay(self, request: ReplayRequest, emit: Emit) -> StepReply:
        """Compute a recorded answer again, from an empty lane with exactly the recorded schedule up to its prompt.

        Raises:
            ContextFull: the prompt does not fit this context.
            NativeError: llama.cpp refused, or the schedule does not fit the ids.
        """
        watch = self._begin()
        ids = request.ids[: request.prompt_tokens]
        self._check_room(len(ids))
        edges = edges_from_runs(ids, request.schedule)
        self.lane.clear()
        step = self._step(watch, Resumed(miss=MissReason("off")), None, emit, len(ids))
        answer = request.ids[len(ids) :]
        with contextlib.closing(Sampler(self.model.library, request.sampling, self.model.n_vocab)) as sampler:
            ended = request.ended or not answer
            chooser = DrawAgain(sampler, self.model.is_end, answer, request.redrawn, ended=ended)
            reader = AnswerReader(self.model.piece, emit)
            longest = len(answer) + ended
            return self._answer(step, ids, edges, chooser, reader, longest, digest=request.digest_logits)

    def prompt(self, request: StepRequest) -> Prompt:
        """Return the prompt that a step with this request reads; from any thread.

        Raises:
            NativeError: the template refuses the conversation.
        """
        with self._rendering:
            return self._render(request).prompt

    def foresee(self, request: StepRequest, prompt: Prompt) -> Resumed:
        """Return where a step with this request would resume; from any thread, and nothing is touched."""
        if _reads_all(request):
            return Resumed(miss=MissReason("off"))
        return self._resumer(prompt).foresee(prompt)

    def reachable(self, request: StepRequest, prompt: Prompt) -> list[int]:
        """Return where a step could resume whose prompt leaves this one there: see ``Resumer``; from any thread.

        Raises:
            CheckpointError: the index cannot be read.
        """
        return [] if _reads_all(request) else self._resumer(prompt).reachable(prompt)

    def _resume(self, request: StepRequest, prompt: Prompt, emit: Emit) -> Resumed:
        if _reads_all(request):
            self.lane.clear()
            return Resumed(miss=MissReason("off"))
        return self._resumer(prompt).resume(prompt, emit)

    def _resumer(self, prompt: Prompt) -> Resumer:
        if not self._goes_on(prompt):
            # What steps before handed over must be found on disk, so the tail of its writing is waited for.
            self._recorder.flush()
        return Resumer(self.lane, self.store, self.no_store, strayed=self._strayed)

    def _goes_on(self, prompt: Prompt) -> bool:
        """Whether a prompt only adds to what the lane holds, so that nothing need be restored."""
        return 0 < self.lane.position == find(LaneTree(self.lane), prompt).position

    def _render(self, request: StepRequest) -> Rendering:
        # A ledger may come from elsewhere, and llama.cpp aborts at an id that it does not know.
        known = range(self.model.n_vocab)
        answers = {
            index: Answer(answer.ids, answer.fed)
            for index, answer in request.answers.items()
            if all(each in known for each in answer.ids)
        }
        if request.by_ids:
            return Rendering(prompt_of_ids(request.messages, answers), {})
        asked = Asked(
            request.now,
            request.thinking,
            request.tools,
            request.tool_choice,
            request.parallel_tool_calls,
            request.json_schema,
        )
        return self.renderer.ask(request.messages, answers, asked)

    def flush(self) -> None:
        """Wait until every checkpoint handed over is durable or has failed."""
        self._recorder.flush()

    def close(self) -> None:
        """Finish recording and free everything."""
        self._recorder.close()
        if self.store is not None:
            self.store.close()
        self.context.close()
        self.model.close()

    def _begin(self) -> Stopwatch:
        self._cancellation.reset()
        return Stopwatch(self._clock())

    def _step(
        self, watch: Stopwatch, resumed: Resumed, store: CheckpointStore | None, emit: Emit, prompt: int
    ) -> Step:
        watch.restored = self._clock()
        emit(
            PrefillStarted(
                prompt=prompt, cached=resumed.position, source=resumed.source, miss_reason=resumed.miss
            )
        )
        recording = StepRecording(store, self.lane, resumed, self._recorder, emit)
        return Step(
            self.context,
            self.lane,
            recording,
            self._cancellation,
            resumed,
            emit,
            self._clock,
            watch,
            self.on_logits,
        )

    def _answer(
        self,
        step: Step,
        ids: array[int],
        edges: list[PlannedEdge],
        chooser: Chooser,
        reader: AnswerReader,
        max_tokens: int,
        *,
        digest: bool,
    ) -> StepReply:
        rows = blake3()

        def note(_position: int, row: NDArray[np.float32]) -> None:
            rows.update(row.tobytes())

        if digest:
            step.on_logits = note
        try:
            reply = step.run(ids, edges, chooser, reader, max_tokens)
        finally:
            step.recording.close()
        if len(reply.ids) > 0:  # else it was stopped in its prompt
            self.speed.learn(len(ids) - step.resumed.position, step.watch.prefilled - step.watch.restored)
        return replace(reply, logits_digest=rows.hexdigest()) if digest else reply

    def _check_room(self, prompt: int) -> None:
        room = self.context.n_ctx
        if prompt >= room:
            raise ContextFull(
                f"The conversation has {prompt:,} tokens, the context holds {room:,}: "
                f"{prompt - room + 1:,} too many to answer.",
                "Start a new session, edit an earlier message, or use a larger --ctx.",
            )


def _reads_all(request: StepRequest) -> bool:
    return not request.cache or request.replay
