"""A scripted engine, for tests of the agent loop and nothing else: what was asked is kept, what comes back is given.

Ids are the bytes of what was asked and answered, so that the ledger of one step can be compared with another's prompt.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import overload

from skippy_chat.engine.protocol import AnsweredCall, LoadReply, ReplayRequest, StepReply, StepRequest
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
from skippy_chat.errors import SkippyError
from skippy_chat.events import (
    Event,
    FinishReason,
    MissReason,
    PrefillStarted,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    ToolCallDelta,
    Usage,
)

LOADED = LoadReply("fake", "ab" * 32, "fake-identity", "llama", "dense", "dense", 4096)


@dataclass(frozen=True, slots=True)
class Said:
    """One scripted answer; ``waits`` until it is cancelled, ``during`` is called when half of it was said.

    ``begun`` are calls that are shown and never read whole.
    """

    text: str = ""
    calls: tuple[AnsweredCall, ...] = ()
    malformed: str = ""
    reasoning: str = ""
    finish_reason: FinishReason | None = None
    waits: bool = False
    during: Callable[[], None] | None = None
    raises: SkippyError | None = None
    begun: tuple[AnsweredCall, ...] = ()


def call(call_id: str, name: str, **arguments: object) -> AnsweredCall:
    """A call with arguments that are JSON."""
    return AnsweredCall(call_id, name, json.dumps(arguments))


class FakeEngine:
    """Answers from a script, in order, or from a function of what was asked."""

    def __init__(self, script: Iterable[Said] | Callable[[StepRequest], Said] = ()) -> None:
        self._script = script if callable(script) else iter(script)
        self._cancelled = threading.Event()
        self.requests: list[StepRequest] = []
        self.questions: list[Question] = []
        self.closed = False

    @property
    def loaded(self) -> LoadReply:
        return LOADED

    @property
    def pid(self) -> int | None:
        return None

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def begin(self) -> None:
        self._cancelled.clear()

    def ready(self) -> Iterator[Event]:
        return iter(())

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        self.closed = True

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        yield from self.run(request)

    @overload
    def ask(self, question: ForeseeQuestion) -> Foreseen: ...
    @overload
    def ask(self, question: TreeQuestion) -> CheckpointTree: ...
    @overload
    def ask(self, question: MeasureQuestion) -> Measured: ...
    def ask(self, question: Question) -> Told:
        """Nothing is kept here, and all would be read."""
        self.questions.append(question)
        if isinstance(question, ForeseeQuestion):
            prompt = len(json.dumps(question.step.messages).encode())
            return Foreseen(prompt, 0, "none", MissReason("nothing_stored"), None, LOADED.context_size)
        if isinstance(question, MeasureQuestion):
            sizes = [len(json.dumps(each).encode()) for each in question.step.messages]
            tools = len(json.dumps(question.step.tools).encode()) if question.step.tools else 0
            return Measured((sizes[0] + tools, *sizes[1:]), tools + sum(sizes) + 2)
        return CheckpointTree((), (), 0, 0, 0, 0, MissReason("off"))

    def run(self, request: StepRequest | ReplayRequest) -> Generator[Event | StepReply, None, None]:
        assert isinstance(request, StepRequest)
        self.requests.append(request)
        said = self._script(request) if callable(self._script) else next(self._script)
        prompt = json.dumps(request.messages).encode()
        yield PrefillStarted(prompt=len(prompt))
        for word in said.reasoning.split(" ") if said.reasoning else ():
            yield ReasoningDelta(text=word)
        if said.text:
            half = len(said.text) // 2
            yield TextDelta(text=said.text[:half])
            if said.during is not None:
                said.during()
            yield TextDelta(text=said.text[half:])
        for each in (*said.calls, *said.begun):
            yield ToolCallDelta(call=each.id, name=each.name, arguments=each.arguments)
        if said.raises is not None:
            raise said.raises
        if said.waits:
            assert self._cancelled.wait(30)
        if self.cancelled:
            said = replace(said, finish_reason="cancelled")
        reason = said.finish_reason or ("tool_calls" if said.calls else "stop")
        answer = said.text.encode()
        usage = Usage(len(prompt), 0, len(prompt), max(1, len(answer)), len(prompt) + len(answer))
        yield StepFinished(usage=usage, finish_reason=reason)
        yield StepReply(
            said.text,
            reason,
            array("i", list(prompt + answer)),
            len(prompt),
            [(len(prompt), False), *([(len(answer), True)] if answer else [])],
            reasoning=said.reasoning,
            calls=said.calls,
            malformed=said.malformed,
        )
