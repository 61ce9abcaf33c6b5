"""Two requests released at the same moment on one worker: one of the conversation, and one aside that gives way to it.

Which of them the worker takes up first is chance. If it is the one aside, it stops for the other, and is asked again as
the product does; what it had read until then is known from its next attempt, whose ids begin in the same way.

Invariant: turns are taken down in the order in which they were served, so that the gate's own tree knows at each of
them what had been read before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.errors import SkippyError
from skippy_chat.events import Event, PrefillStarted, StepFinished
from skippy_chat.gate.stage import Stage, Turn, Worker, follow

_RELEASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Overlap:
    """The two turns; ``gave_way``: the one aside was taken up first, and stopped for the other.

    ``source`` is where the worker resumed for whichever it took up first, also if that gave way.
    """

    main: Turn
    aside: Turn
    gave_way: bool
    source: str


def run_together(stage: Stage, main: StepRequest, aside: StepRequest) -> Overlap:
    """Release both, wait for both and what they record, and keep both as evidence under the names of their turns.

    Raises:
        SkippyError: as the worker said; EngineDied when it is gone.
    """
    assert main.turn != aside.turn, "events are told apart by their turn"
    worker = stage.worker  # started now, so that both find it
    barrier = threading.Barrier(2)
    sides = (
        _Side(stage, worker, main, barrier, aside=False),
        _Side(stage, worker, aside, barrier, aside=True),
    )
    threads = [threading.Thread(target=side.run, name=f"overlap-{side.request.turn}") for side in sides]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for side in sides:
        if side.error is not None:
            raise side.error
    stopped = sides[1].attempts[:-1]
    for attempt in stopped:
        _know(stage, attempt, sides[1].last.reply)
    # What is recorded late is told to whoever reads then, with the turn it belongs to.
    told = [*sides[0].last.events, *sides[1].last.events, *worker.flush()]
    turns = []
    for side in sorted(sides, key=lambda side: _began(side.last.events)):
        name = side.request.turn
        events = [event for event in told if event.turn == name]
        turns.append(stage.take_down(side.request, name, events, side.last.reply))
    by_name = {turn.label: turn for turn in turns}
    begun = [
        event
        for side in sides
        for attempt in side.attempts
        for event in attempt.events
        if isinstance(event, PrefillStarted)
    ]
    source = min(begun, key=lambda event: event.at_ms).source if begun else "none"
    return Overlap(by_name[main.turn], by_name[aside.turn], bool(stopped), source)


@dataclass(frozen=True, slots=True)
class _Attempt:
    events: list[Event]
    reply: StepReply


@dataclass
class _Side:
    """One of the two, on a thread of its own."""

    stage: Stage
    worker: Worker
    request: StepRequest
    barrier: threading.Barrier
    aside: bool
    attempts: list[_Attempt] = field(default_factory=list)
    error: SkippyError | None = None

    @property
    def last(self) -> _Attempt:
        return self.attempts[-1]

    def run(self) -> None:
        self.barrier.wait(_RELEASE_SECONDS)
        try:
            while not self.attempts or self.last.reply.gave_way:
                events, reply = follow(self.worker, self.request, self._progress, aside=self.aside)
                self.attempts.append(_Attempt(events, reply))
        except SkippyError as error:
            self.error = error

    def _progress(self, done: int, total: int) -> None:
        self.stage.on_progress(self.request.turn, done, total)


def _began(events: Sequence[Event]) -> int:
    return min((event.at_ms for event in events if isinstance(event, PrefillStarted)), default=0)


def _know(stage: Stage, stopped: _Attempt, whole: StepReply) -> None:
    """Have the gate's tree know what an attempt had read that was stopped; ``whole`` is the reply of the next one."""
    if stopped.reply.ids:
        stage.tree.add(stopped.reply)
        return
    finished = next((event for event in stopped.events if isinstance(event, StepFinished)), StepFinished())
    held = finished.usage.context_tokens
    schedule, left = [], held
    for tokens, single in whole.schedule:
        if left > 0:
            schedule.append((min(tokens, left), single))
            left -= tokens
    # No prompt ended there, so no logits are kept.
    stage.tree.add(replace(whole, ids=whole.ids[:held], schedule=schedule, prompt_tokens=-1))
