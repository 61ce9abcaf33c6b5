"""The engine: one loaded model, one lane, one checkpoint store; it runs steps one after another.

Invariant: every token that is read or generated follows the schedule that the step's reply reports, so that a
replay of it computes the same sums.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.engine.ids import prompt_of_ids
from skippy_chat.engine.lane import Lane, LaneTree
from skippy_chat.engine.planning import PlannedEdge, Prompt, find, remaining
from skippy_chat.engine.protocol import ReplayRequest, StepReply, StepRequest
from skippy_chat.engine.recorder import Emit, Recorder
from skippy_chat.engine.recording import StepRecording
from skippy_chat.engine.rendering import Answer, Renderer
from skippy_chat.engine.resume import Resumed, Resumer
from skippy_chat.engine.schedule import edges_from_runs
from skippy_chat.engine.step import ABORT_AFTER_SECONDS, Cancellation, OnLogits, Step, Stopwatch
from skippy_chat.errors import ContextFull
from skippy_chat.events import MissReason, PrefillStarted
from skippy_chat.native.context import Context
from skippy_chat.native.model import Model
from skippy_chat.native.sampler import Sampler
from skippy_chat.sampling import Sampling


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
        self._no_store = no_store or MissReason("off")
        self._recorder = Recorder()
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
        prompt = self._prompt(request)
        self._check_room(len(prompt.ids))
        cached = request.cache and not request.replay
        store = self.store if cached else None
        if cached:
            if not self._goes_on(prompt):
                # What steps before handed over must be found on disk, so the tail of its writing is waited for.
                self._recorder.flush()
            resumed = Resumer(self.lane, store, self._no_store).resume(prompt, emit)
        else:
            self.lane.clear()
            resumed = Resumed(miss=MissReason("off"))
        step = self._step(watch, resumed, store if request.record else None, emit, len(prompt.ids))
        edges = remaining(prompt, resumed.edges, as_generated=request.replay)
        return self._sample(
            step, prompt.ids, edges, request.sampling, request.max_tokens, digest=request.digest_logits
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
        longest = len(request.ids) - len(ids)
        return self._sample(step, ids, edges, request.sampling, longest, digest=request.digest_logits)

    def _goes_on(self, prompt: Prompt) -> bool:
        """Whether a prompt only adds to what the lane holds, so that nothing need be restored."""
        return 0 < self.lane.position == find(LaneTree(self.lane), prompt).position

    def _prompt(self, request: StepRequest) -> Prompt:
        answers = {index: Answer(answer.ids, answer.fed) for index, answer in request.answers.items()}
        if request.by_ids:
            return prompt_of_ids(request.messages, answers)
        return self.renderer.render(request.messages, answers, now=request.now, thinking=request.thinking)

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

    def _sample(
        self,
        step: Step,
        ids: array[int],
        edges: list[PlannedEdge],
        sampling: Sampling,
        max_tokens: int,
        *,
        digest: bool,
    ) -> StepReply:
        sampler = Sampler(self.model.library, sampling, self.model.n_vocab)
        rows = blake3()

        def note(_position: int, row: NDArray[np.float32]) -> None:
            rows.update(row.tobytes())

        if digest:
            step.on_logits = note
        try:
            reply = step.run(ids, edges, sampler, max_tokens)
        finally:
            sampler.close()
            step.recording.close()
        return replace(reply, logits_digest=rows.hexdigest()) if digest else reply

    def _check_room(self, prompt: int) -> None:
        room = self.context.n_ctx
        if prompt >= room:
            raise ContextFull(
                f"The conversation has {prompt:,} tokens, the context holds {room:,}: "
                f"{prompt - room + 1:,} too many to answer.",
                "Start a new session, edit an earlier message, or use a larger --ctx.",
            )
