"""What a turn came to, gathered from its events: the object that ``run --json`` prints, and the reuse line.

Invariant: nothing here is computed twice. Counts, reasons and times are the engine's, copied.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.events import (
    SCHEMA,
    Event,
    FinishReason,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    Usage,
    WorkerDied,
)


@dataclasses.dataclass(slots=True)
class _Call:
    name: str = ""
    arguments: str = ""
    status: str = "error"
    result: str = ""
    ran: bool = False

    def as_json(self, call: str) -> dict[str, Any]:
        try:
            arguments: Any = json.loads(self.arguments or "{}")
        except ValueError:
            arguments = self.arguments
        return {
            "id": call,
            "name": self.name,
            "arguments": arguments,
            "status": self.status,
            "result": self.result,
        }


class TurnLog:
    """Follow one turn's events; the answer is the text of its last step."""

    def __init__(self) -> None:
        self.steps: list[StepFinished] = []
        self.finished: TurnFinished | None = None
        self.died: WorkerDied | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[dict[str, _Call]] = [{}]
        self._step_open = False

    def add(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event, (TextDelta, ReasoningDelta, ToolCallDelta)):
            self._open_step()
        if isinstance(event, TextDelta):
            self._text.append(event.text)
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
        elif isinstance(event, ToolCallDelta):
            call = self._calls[-1].setdefault(event.call, _Call())
            call.name = event.name or call.name
            call.arguments += event.arguments
        elif isinstance(event, ToolStarted):
            call = self._calls[-1].setdefault(event.call, _Call())
            call.name, call.arguments, call.ran = event.name, event.arguments, True
        elif isinstance(event, ToolFinished):
            call = self._calls[-1].setdefault(event.call, _Call())
            call.name = event.name or call.name
            call.status, call.result = event.status, event.result
        elif isinstance(event, StepFinished):
            self._open_step()
            self.steps.append(event)
            self._step_open = False
        elif isinstance(event, TurnFinished):
            self.finished = event
        elif isinstance(event, WorkerDied):
            self.died = event

    def _open_step(self) -> None:
        # Tool results arrive after their step ended, so a step's calls stay open until the next step begins.
        if self._step_open:
            return
        self._step_open = True
        if self.steps:
            self._text, self._reasoning = [], []
            self._calls.append({})

    @property
    def content(self) -> str:
        """The answer so far, raw."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str | None:
        """The reasoning before the answer, raw."""
        return "".join(self._reasoning) or None

    @property
    def finish_reason(self) -> FinishReason:
        """Why the turn ended, which is why its last step did, but for one that ended between two steps."""
        if self.finished is not None and self.steps:
            return self.finished.finish_reason
        return self.steps[-1].finish_reason if self.steps else "error"

    def named(self, call: str) -> str:
        """Return the name of the tool that a call of this step calls."""
        return self._call(call).name

    def arguments(self, call: str) -> str:
        """Return the raw arguments of a call of this step."""
        return self._call(call).arguments

    def ran(self, call: str) -> bool:
        """Tell whether a call of this step was run."""
        return self._call(call).ran

    def _call(self, call: str) -> _Call:
        return self._calls[-1].get(call, _Call())

    @property
    def usage(self) -> Usage:
        """The turn's usage: the engine's own sum, or that of the steps seen when the turn broke off."""
        if self.finished is not None:
            return self.finished.usage
        total = Usage()
        for step in self.steps:
            total = total.plus(step.usage)
        return total

    def steps_json(self) -> list[dict[str, Any]]:
        """Return the steps in the shape of DESIGN section 7."""
        return [self._step_json(step, calls) for step, calls in zip(self.steps, self._calls, strict=False)]

    def as_json(self, session: str, model: LoadedModel) -> dict[str, Any]:
        """Return the whole turn in the shape of DESIGN section 7."""
        usage = dataclasses.asdict(self.usage)
        del usage["context_tokens"]
        return {
            "schema": SCHEMA,
            "session": session,
            "message": self.finished.message if self.finished else None,
            "content": self.content,
            "reasoning": self.reasoning,
            "finish_reason": self.finish_reason,
            "steps": self.steps_json(),
            "usage": usage,
            "model": {
                "name": model.name,
                "sha256": model.sha256,
                "kind": model.kind,
                "architecture": model.architecture,
            },
        }

    def _step_json(self, step: StepFinished, calls: dict[str, _Call]) -> dict[str, Any]:
        return {
            **dataclasses.asdict(step.usage),
            "cache": dataclasses.asdict(step.cache),
            "timings": dataclasses.asdict(step.timings),
            "tool_calls": [call.as_json(name) for name, call in calls.items()],
            "finish_reason": step.finish_reason,
        }
