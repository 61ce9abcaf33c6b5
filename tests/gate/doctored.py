"""A real worker whose words are changed on the way: what a broken engine, or a broken cache, would say.

The product cannot be made to lie about itself, so the gate's tests do it between the worker and the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skippy_chat.engine.protocol import LoadReply, LoadRequest, ReplayRequest, StepReply, StepRequest
from skippy_chat.events import CheckpointFailed, Event, Notice, PrefillStarted, StepFinished
from skippy_chat.gate.run import engine_starter
from skippy_chat.gate.stage import OnProgress, StartWorker, Worker

Item = Event | StepReply


@dataclass
class Lies:
    """What is changed: requests on their way in, items (None drops one) on their way out."""

    load: Callable[[LoadRequest], LoadRequest] = lambda request: request
    ask: Callable[[StepRequest], StepRequest] = lambda request: request
    tell: Callable[[StepRequest | ReplayRequest, Item], Item | None] = lambda _request, item: item
    loaded: Callable[[LoadReply], LoadReply] = lambda reply: reply
    aside: bool = True


class Doctored:
    """A worker that tells lies."""

    def __init__(self, worker: Worker, lies: Lies) -> None:
        self._worker = worker
        self._lies = lies

    @property
    def pid(self) -> int:
        return self._worker.pid

    def load(self, request: LoadRequest, on_progress: OnProgress) -> LoadReply:
        return self._lies.loaded(self._worker.load(self._lies.load(request), on_progress))

    def run(
        self, request: StepRequest | ReplayRequest, *, aside: bool = False
    ) -> Generator[Item, None, None]:
        asked = self._lies.ask(request) if isinstance(request, StepRequest) else request
        for item in self._worker.run(asked, aside=aside and self._lies.aside):
            told = self._lies.tell(request, item)
            if told is not None:
                yield told

    def flush(self) -> Iterator[Event]:
        yield from self._worker.flush()

    def close(self) -> None:
        self._worker.close()

    def kill(self) -> None:
        self._worker.kill()


def starting(lies: Lies) -> StartWorker:
    """Return what starts workers that tell these lies."""
    start = engine_starter()

    def begin(log: Path, command: Sequence[str] | None = None) -> Worker:
        return Doctored(start(log, command), lies)

    return begin


def warm(request: StepRequest | ReplayRequest) -> bool:
    return isinstance(request, StepRequest)


def counted(**changes: Callable[[Any], int]) -> Lies:
    """Change counts of a step's usage: by name, what the true usage is turned into."""

    def tell(request: StepRequest | ReplayRequest, item: Item) -> Item:
        if not isinstance(item, StepFinished) or not warm(request):
            return item
        usage = replace(item.usage, **{name: change(item.usage) for name, change in changes.items()})
        return replace(item, usage=usage)

    return Lies(tell=tell)


def claiming_all() -> Lies:
    """Claim that every prompt was cached whole, in every place where it is told."""

    def tell(request: StepRequest | ReplayRequest, item: Item) -> Item:
        if warm(request) and isinstance(item, PrefillStarted):
            return replace(item, cached=item.prompt)
        if warm(request) and isinstance(item, StepFinished):
            usage = replace(item.usage, cached_tokens=item.usage.prompt_tokens, prefilled_tokens=0)
            cache = replace(item.cache, restored_position=usage.prompt_tokens)
            return replace(item, usage=usage, cache=cache)
        return item

    return Lies(tell=tell)


def replying(change: Callable[[StepReply], StepReply], *, restored: bool = False) -> Lies:
    """Change the reply of every warm step; if ``restored``, only of those whose whole prompt was reused."""
    whole = False

    def tell(request: StepRequest | ReplayRequest, item: Item) -> Item:
        nonlocal whole
        if isinstance(item, PrefillStarted):
            whole = item.cached == item.prompt
        if isinstance(item, StepReply) and warm(request) and (whole or not restored):
            return change(item)
        return item

    return Lies(tell=tell)


def silent() -> Lies:
    """Tell no reason for anything."""

    def tell(_request: StepRequest | ReplayRequest, item: Item) -> Item | None:
        if isinstance(item, (CheckpointFailed, Notice)):
            return None
        if isinstance(item, StepFinished):
            return replace(item, cache=replace(item.cache, miss_reason=None))
        return item

    return Lies(tell=tell, loaded=lambda reply: replace(reply, cache_notice=""))
