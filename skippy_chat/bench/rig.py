"""Drives the product for a measurement: worker processes through the public client, in folders of their own.

Invariant: counts and times are the worker's own, as any client gets them; nothing here reaches into the engine.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.dialogues.texts import Ids, Material, Words
from skippy_chat.engine.client import EngineClient
from skippy_chat.engine.protocol import LoadReply, LoadRequest, StepReply, StepRequest
from skippy_chat.errors import NativeError
from skippy_chat.events import (
    CacheUse,
    CheckpointFailed,
    CheckpointRecorded,
    StepFinished,
    TextDelta,
    Timings,
    Usage,
)
from skippy_chat.models.inspect import inspect_model
from skippy_chat.sampling import Sampling

GREEDY = Sampling(temperature=0.0)
_CALIBRATION_WORDS = 40
_LEAST_RATE = 0.1


@dataclass(frozen=True, slots=True)
class Measured:
    """One step: what the worker said of it, and what the client saw, in seconds.

    ``first_seen`` is from asking to the first text (to the end, for an answer without text), ``seconds`` to the
    reply, ``flushed`` from there until all its checkpoints were durable; ``recorded`` counts their bytes.
    """

    usage: Usage
    cache: CacheUse
    timings: Timings
    reply: StepReply
    first_seen: float
    seconds: float
    flushed: float = 0.0
    recorded: int = 0
    states: int = 0
    failures: tuple[str, ...] = ()

    @property
    def first_token(self) -> float:
        """Seconds to the first token by the worker's clock, rendering and lookup included."""
        return self.timings.first_token_ms / 1000

    @property
    def prefill_rate(self) -> float:
        """Tokens read per second, 0 when none were."""
        return _rate(self.usage.prefilled_tokens, self.timings.prefill_ms / 1000)


@dataclass(slots=True)
class Worker:
    """One running worker with the model loaded."""

    client: EngineClient
    loaded: LoadReply
    load_seconds: float
    by_ids: bool
    clock: Callable[[], float] = time.monotonic

    def step(self, dialogue: Dialogue, *, max_tokens: int = 8, cache: bool = True) -> Measured:
        """Answer a conversation, and wait until what it left behind is durable."""
        request = StepRequest(
            session="bench",
            turn="bench",
            messages=list(dialogue.messages),
            sampling=GREEDY,
            answers=dialogue.answers,
            max_tokens=max_tokens,
            thinking=False,
            cache=cache,
            by_ids=self.by_ids,
        )
        began = self.clock()
        first: float | None = None
        finished: StepFinished | None = None
        reply: StepReply | None = None
        recorded: list[CheckpointRecorded] = []
        failures: list[str] = []

        def note(item: object) -> None:
            if isinstance(item, CheckpointRecorded):
                recorded.append(item)
            elif isinstance(item, CheckpointFailed):
                failures.append(item.reason)

        for item in self.client.run(request):
            if isinstance(item, StepReply):
                reply = item
            elif isinstance(item, StepFinished):
                finished = item
            elif isinstance(item, TextDelta) and first is None:
                first = self.clock() - began
            note(item)
        ended = self.clock()
        for item in self.client.flush():
            note(item)
        assert finished is not None
        assert reply is not None
        return Measured(
            finished.usage,
            finished.cache,
            finished.timings,
            reply,
            ended - began if first is None else first,
            ended - began,
            self.clock() - ended,
            sum(each.bytes for each in recorded),
            sum(each.states for each in recorded),
            tuple(failures),
        )

    def grow(
        self, dialogue: Dialogue, contents: Sequence[str], *, max_tokens: int = 8
    ) -> tuple[Dialogue, Measured]:
        """Say each of ``contents`` and have all answered; return the conversation before the last answer."""
        for content in contents[:-1]:
            dialogue = dialogue.said("user", content)
            dialogue = dialogue.answered(self.step(dialogue, max_tokens=max_tokens).reply)
        dialogue = dialogue.said("user", contents[-1])
        return dialogue, self.step(dialogue, max_tokens=max_tokens)


@dataclass(slots=True)
class Rig:
    """A model, folders and the settings of every worker that is started here.

    ``folder`` is for checkpoints and logs, ``shared`` for what is known of the model (digests, proofs).
    """

    model: Path
    folder: Path
    shared: Path
    threads: int
    context: int
    disk_budget: int
    progress: Callable[[str, int, int], None]
    texts: Material = field(default_factory=Words)
    seed: int = 0
    clock: Callable[[], float] = time.monotonic

    def request(self, *, cache: bool = True) -> LoadRequest:
        """Return how every worker loads the model."""
        return LoadRequest(
            model=str(self.model),
            checkpoints=str(self.checkpoints),
            digests=str(self.shared / "digests.json"),
            context=self.context,
            threads=self.threads,
            flash_attention="on",
            disk_budget=self.disk_budget,
            cache=cache,
            proofs=str(self.shared / "proofs"),
        )

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoint tree."""
        return self.folder / "checkpoints"

    @contextlib.contextmanager
    def worker(self, *, cache: bool = True) -> Iterator[Worker]:
        """Start a worker and load the model; it is ended afterwards, with its checkpoints durable."""
        client = EngineClient(self.folder / "logs" / "worker.log")
        try:
            began = self.clock()
            loaded = client.load(self.request(cache=cache), self.progress)
            seconds = self.clock() - began
            yield Worker(client, loaded, seconds, self.texts.by_ids, self.clock)
        finally:
            client.close()

    def text(self, tokens: int) -> str:
        """Return a text of about ``tokens`` tokens unlike any before it in this run."""
        self.seed += 1
        return self.texts.text(self.seed, tokens)

    def settle(self) -> LoadReply:
        """Load the model once, so that it is proven and paged in; find out how its texts are to be written."""
        if not inspect_model(self.model).chat_template:
            self.texts = Ids()
        with self.worker() as worker:
            if self.texts.by_ids:
                return worker.loaded
            sample = self.texts.text(0, _CALIBRATION_WORDS)
            lengths = []
            try:
                for text in (sample, f"{sample} {sample}"):
                    measured = worker.step(Dialogue().said("user", text), max_tokens=1, cache=False)
                    lengths.append(measured.usage.prompt_tokens)
            except NativeError:
                # A template that does not render: contents are ids then, as without one.
                self.texts = Ids()
                return worker.loaded
        self.texts = Words(max(_LEAST_RATE, (lengths[1] - lengths[0]) / _CALIBRATION_WORDS))
        return worker.loaded

    def store_files(self) -> list[Path]:
        """Return the segment files of every store here."""
        return sorted(path for path in self.checkpoints.rglob("*.seg") if path.is_file())

    def weigh(self) -> Weight:
        """Return what the checkpoint folder weighs now."""
        segments = [path.stat() for path in self.store_files()]
        others = [
            path.stat().st_size
            for path in self.checkpoints.rglob("*")
            if path.is_file() and path.suffix != ".seg"
        ]
        written = sum(each.st_size for each in segments)
        allocated = sum(getattr(each, "st_blocks", -(-each.st_size // 512)) * 512 for each in segments)
        return Weight(written, allocated, sum(others), len(segments))


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes in segment files, bytes those occupy on disk, bytes of the index and the rest, and the number of files."""

    segments: int
    allocated: int
    others: int
    files: int


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if seconds > 0 else 0.0
