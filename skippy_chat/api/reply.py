"""What a turn came to, as values for scripts.

Invariant: nothing is computed twice: counts, reasons and times are those that the engine told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skippy_chat.events import CacheUse, FinishReason, StepFinished, Timings, Usage
from skippy_chat.turn_log import TurnLog


@dataclass(frozen=True, slots=True)
class CallMade:
    """A tool call and what became of it.

    ``arguments`` is the parsed object, or the model's raw text where that was none. ``status`` is ok, denied or error;
    ``result`` is what the model was given.
    """

    id: str
    name: str
    arguments: Any
    status: str
    result: str


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of the model: ``usage`` in tokens, what it resumed from, and the calls it made."""

    usage: Usage
    cache: CacheUse
    timings: Timings
    finish_reason: FinishReason
    tool_calls: tuple[CallMade, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: the text of the turn's last step, and how the turn went.

    ``message`` is the id of the last stored message; ``usage`` is the sum over ``steps``. ``parsed`` is the answer as
    data, where a JSON Schema was asked for and the answer came to its end; None otherwise.
    """

    content: str
    reasoning: str | None
    finish_reason: FinishReason
    steps: tuple[Step, ...]
    usage: Usage
    message: str | None
    parsed: Any = None

    @property
    def tool_calls(self) -> tuple[CallMade, ...]:
        """The calls of all steps, in order."""
        return tuple(call for step in self.steps for call in step.tool_calls)


def reply_from(log: TurnLog, parsed: Any = None) -> Reply:
    """Return what a turn's log holds."""
    steps = zip(log.steps, log.steps_json(), strict=True)
    return Reply(
        content=log.content,
        reasoning=log.reasoning,
        finish_reason=log.finish_reason,
        steps=tuple(_step(step, written["tool_calls"]) for step, written in steps),
        usage=log.usage,
        message=log.finished.message if log.finished else None,
        parsed=parsed,
    )


def _step(step: StepFinished, calls: list[dict[str, Any]]) -> Step:
    made = tuple(
        CallMade(call["id"], call["name"], call["arguments"], call["status"], call["result"])
        for call in calls
    )
    return Step(step.usage, step.cache, step.timings, step.finish_reason, made)
