"""One folder of checkpoints and the worker on it: steps go in, and come out with all that was told of them.

Invariant: every step is drained to the end of its recording before it is given back, so that what the next one may
reuse is settled; and a worker that was started is ended, whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from skippy_chat.engine.protocol import LoadReply, LoadRequest, ReplayRequest, StepReply, StepRequest
from skippy_chat.events import (
    CheckpointFailed,
    CheckpointRecorded,
    Event,
    MissReason,
    Notice,
    PrefillProgress,
    PrefillStarted,
    StepFinished,
)
from skippy_chat.gate.tree import Reach, Tree

OnProgress = Callable[[str, int, int], None]


class Worker(Protocol):
    """What the gate uses of ``EngineClient``."""

    @property
    def pid(self) -> int:
        """Process id."""

    def load(self, request: LoadRequest, on_progress: OnProgress) -> LoadReply:
        """Load a model."""

    def run(
        self, request: StepRequest | ReplayRequest, *, aside: bool = False
    ) -> Generator[Event | StepReply, None, None]:
        """Run a step; the reply comes last. One ``aside`` gives way to others."""

    def flush(self) -> Iterator[Event]:
        """Wait until all checkpoints are durable."""

    def close(self) -> None:
        """Let it finish recording and end."""

    def kill(self) -> None:
        """End it at once."""


class StartWorker(Protocol):
    """Starts a worker process whose native log goes to ``log``; ``command`` is another way to start it."""

    def __call__(self, log: Path, command: Sequence[str] | None = None) -> Worker:
        """Return the running worker."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step and everything told of it; ``reach`` is what it had to reuse, by the gate's own tree."""

    label: str
    request: StepRequest | ReplayRequest
    reply: StepReply
    events: tuple[Event, ...]
    reach: Reach

    @property
    def finished(self) -> StepFinished:
        """The step's counts and timings; empty ones if the worker told none."""
        return next((event for event in self.events if isinstance(event, StepFinished)), StepFinished())

    @property
    def prompt(self) -> int:
        """Prompt tokens."""
        return self.finished.usage.prompt_tokens

    @property
    def cached(self) -> int:
        """Prompt tokens that were not read."""
        return self.finished.usage.cached_tokens

    @property
    def source(self) -> str:
        """Where the step resumed from: live, disk or none."""
        return self.finished.cache.source

    @property
    def miss(self) -> MissReason | None:
        """Why not all was cached, as it was told."""
        return self.finished.cache.miss_reason

    @property
    def answer(self) -> tuple[int, ...]:
        """The sampled ids."""
        return tuple(self.reply.ids[self.reply.prompt_tokens :])

    @property
    def ended(self) -> bool:
        """Whether the answer came to an end by itself: a row of logits was looked at behind its last token."""
        finish, fed = self.reply.finish_reason, self.reply.recorded().fed
        return finish in ("stop", "tool_calls") and fed == len(self.answer)

    @property
    def recorded_bytes(self) -> int:
        """Bytes that its checkpoints took."""
        return sum(event.bytes for event in self.events if isinstance(event, CheckpointRecorded))

    @property
    def told(self) -> tuple[str, ...]:
        """What was said to have gone wrong."""
        return tuple(
            event.reason if isinstance(event, CheckpointFailed) else event.text
            for event in self.events
            if isinstance(event, (CheckpointFailed, Notice))
        )

    def fault(self) -> str:
        """Return what is wrong with its counts; empty when they agree with each other, the events and the tree."""
        usage, cache, reply = self.finished.usage, self.finished.cache, self.reply
        started = next((event for event in self.events if isinstance(event, PrefillStarted)), None)
        progress = [event for event in self.events if isinstance(event, PrefillProgress)]
        faults = (
            (started is None, "the step did not say what it would read"),
            (
                usage.cached_tokens + usage.prefilled_tokens != usage.prompt_tokens,
                "cached + new is not the prompt",
            ),
            (usage.prompt_tokens != reply.prompt_tokens, "the prompt has another length than its ids"),
            (usage.generated_tokens != len(reply.ids) - reply.prompt_tokens, "the answer has another length"),
            (
                usage.context_tokens != sum(tokens for tokens, _ in reply.schedule),
                "the lane holds another count",
            ),
            (cache.restored_position != usage.cached_tokens, "restored to another position than is counted"),
            (
                started is not None and started.cached != usage.cached_tokens,
                "announced another count than read",
            ),
            (
                bool(progress) and progress[-1].done != usage.prefilled_tokens,
                "read another count than is told",
            ),
            (usage.cached_tokens > self.reach.deepest, "more was reused than was ever read"),
            (usage.cached_tokens < self.reach.deepest and self.miss is None, "a miss without a reason"),
        )
        found = next((text for wrong, text in faults if wrong), "")
        return f"{self.label}: {found} ({usage})" if found else ""


@dataclass(slots=True)
class Stage:
    """A checkpoint folder, ``load`` saying how models are loaded on it, and at most one worker at a time."""

    name: str
    load: LoadRequest
    start_worker: StartWorker
    logs: Path
    on_progress: OnProgress
    on_turn: Callable[[Turn, str], None]
    tree: Tree = field(default_factory=Tree)
    loaded: LoadReply | None = None
    _worker: Worker | None = None
    _started: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()

    @property
    def worker(self) -> Worker:
        """The running worker; started when there is none."""
        return self._worker or self.start()

    @property
    def folder(self) -> Path:
        """Where its checkpoints lie."""
        return Path(self.load.checkpoints)

    def start(self, *, command: Sequence[str] | None = None, **changed: object) -> Worker:
        """Start a worker and load the model, with some of the load request changed.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        assert self._worker is None, "one worker at a time"
        self._started += 1
        log = self.logs / f"{self.name}-{self._started}.log"
        worker = self._worker = self.start_worker(log, command)
        self.loaded = worker.load(replace(self.load, **changed), self.on_progress)  # type: ignore[arg-type]
        return worker

    def stop(self) -> None:
        """Let the worker finish recording and end; safe when there is none."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def kill(self) -> None:
        """End the worker at once; safe when there is none."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def run(self, request: StepRequest | ReplayRequest, label: str) -> Turn:
        """Run a step, wait for its recording, and keep it as evidence.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        events, reply = follow(self.worker, request, lambda done, total: self.on_progress(label, done, total))
        return self.take_down(request, label, [*events, *self.worker.flush()], reply)

    def take_down(
        self, request: StepRequest | ReplayRequest, label: str, events: Sequence[Event], reply: StepReply
    ) -> Turn:
        """Keep a step that was run as evidence, and what it read in the tree."""
        cached = isinstance(request, StepRequest) and request.cache and not request.replay and self.load.cache
        turn = Turn(label, request, reply, tuple(events), self.tree.reach(reply) if cached else Reach())
        if cached:
            self.tree.add(reply)
        self.on_turn(turn, self.name)
        return turn


def follow(
    worker: Worker,
    request: StepRequest | ReplayRequest,
    on_prefill: Callable[[int, int], None],
    *,
    aside: bool = False,
) -> tuple[list[Event], StepReply]:
    """Run a step to its end and return its events and its reply; ``on_prefill`` is told (done, total) tokens.

    Raises:
        SkippyError: as the worker said; EngineDied when it is gone.
    """
    events: list[Event] = []
    reply: StepReply | None = None
    for item in worker.run(request, aside=aside):
        if isinstance(item, StepReply):
            reply = item
        else:
            events.append(item)
            if isinstance(item, PrefillProgress):
                on_prefill(item.done, item.total)
    assert reply is not None, "a step ends with its reply or an error"
    return events, reply
