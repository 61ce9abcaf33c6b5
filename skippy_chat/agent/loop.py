"""A turn: the model answers, its calls are carried out, and it answers again, until it calls nothing.

Invariant: at every moment what is stored can be rendered, and gone on from: each answer with its ledger, then one
result for each of its calls, before the model is asked again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from skippy_chat.agent.asking import Asking
from skippy_chat.agent.calling import Caller
from skippy_chat.agent.fitting import shorten
from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.results import Results
from skippy_chat.agent.stepping import Engine, Stepped, Stepper, Wish
from skippy_chat.agent.stream import EventStream
from skippy_chat.agent.tally import Tally
from skippy_chat.agent.toolbox import LoopLimits, Toolbox
from skippy_chat.agent.tools.protocol import ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.chat.pairing import NOT_RUN
from skippy_chat.errors import ContextFull, EngineDied, HistoryError
from skippy_chat.events import (
    Event,
    FinishReason,
    Notice,
    StepFinished,
    TurnFinished,
    TurnStarted,
    WorkerDied,
)

_CUT_SHORT = "This call was not run: the answer was cut short."
_NO_TOOLS = "This call was not run: no tools are offered."
_SHORTENED = Notice(
    level="warning",
    text="What the tools gave does not fit the context; the model sees the beginning and the end of it.",
    hint="All of it is in the file that the result names; a larger --ctx lets the model see more.",
)
_FULL_HINT = "What was done is stored: fork the session before it, or open it with a larger --ctx."


@dataclass(frozen=True, slots=True)
class Parts:
    """What the turns of one open session share.

    ``notices`` gives what a turn on a branch has to tell first; ``new_id`` names what has no id of its own; ``clock``
    gives seconds.
    """

    history: History
    engine: Engine
    stepper: Stepper
    stream: EventStream
    box: Toolbox | None
    asking: Asking
    clock: Callable[[], float]
    new_id: Callable[[], str]
    notices: Callable[[Sequence[Message]], Sequence[Notice]]


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a turn begins: ``asked`` is the user's message, ``at`` the message (an id) that the next answer follows.

    ``max_tokens`` bounds each answer. ``set_aside`` is called when the prompt of a new message does not fit.
    """

    asked: Message
    at: str
    turn: str
    options: TurnOptions
    max_tokens: int
    set_aside: Callable[[], None]


class Turn:
    """One turn, run once."""

    def __init__(self, parts: Parts, begin: Beginning, stop: threading.Event) -> None:
        """``stop`` is set from any thread to end the turn early."""
        self._parts = parts
        self._begin = begin
        self._stop = stop
        self._at = begin.at
        self._shortened = ""  # the last result that was
        self._tally = Tally(LoopLimits() if parts.box is None else parts.box.limits)

    def run(self) -> Generator[Event, None, None]:
        """Run the turn to its end.

        Raises:
            ContextFull: the first prompt does not fit; a later one ends the turn with a notice.
            SkippyError: as the worker said; EngineDied when it is gone. What was done until then is stored.
        """
        yield self._own(TurnStarted(message=self._begin.asked.id))
        try:
            reason = yield from self._steps()
        except EngineDied as death:
            yield self._own(WorkerDied(reason=death.message, log_tail=death.log_tail))
            raise
        yield self._own(TurnFinished(usage=self._tally.usage, message=self._at, finish_reason=reason))

    def _steps(self) -> Generator[Event, None, FinishReason]:
        while True:
            try:
                stepped = yield from self._step()
            except ContextFull as full:
                if self._at == self._begin.asked.id:
                    self._begin.set_aside()
                    raise
                if (yield from self._make_room()):
                    continue
                yield self._own(Notice(level="error", text=full.message, hint=_FULL_HINT))
                return "context_full"
            yield from self._end(stepped)
            if not (yield from self._carry_out(stepped)):
                if stepped.finish_reason == "length" and (spent := self._tally.tokens_spent()) is not None:
                    yield self._own(spent)
                return stepped.finish_reason
            if self._stop.is_set():
                return "cancelled"
            limit = self._tally.reached()
            if limit is not None:
                yield self._own(limit)
                return "tool_calls"

    def _step(self) -> Generator[Event, None, Stepped]:
        parts = self._parts
        for event in parts.engine.ready():
            yield self._own(event)
        if parts.engine.cancelled:
            yield self._own(StepFinished(finish_reason="cancelled"))
            return Stepped("cancelled")
        if self._tally.steps == 0:
            for notice in parts.notices(parts.history.branch(self._at)):
                yield self._own(notice)
        stepped: Stepped | None = None
        wish = self._wish()
        items = parts.stepper.step(self._at, wish, self._begin.turn)
        try:
            for item in items:
                if isinstance(item, Stepped):
                    stepped = item
                    continue
                yield item
        finally:
            items.close()
        assert stepped is not None, "the last item"
        return stepped

    def _make_room(self) -> Generator[Event, None, bool]:
        """Shorten what the tools gave last, telling so once; False when that cannot help."""
        box, history = self._parts.box, self._parts.history
        if box is None or not shorten(history, history.branch(self._at), box.context.output_folder):
            return False
        if self._shortened != self._at:
            self._shortened = self._at
            yield self._own(_SHORTENED)
        return True

    def _end(self, stepped: Stepped) -> Generator[Event, None, None]:
        """Tell that a step is over; each call has a result also when who reads the events goes away just then."""
        answer = stepped.answer
        if answer is not None:
            self._at = answer.id
        if stepped.over is None:
            return
        self._tally.add(stepped.over.usage)
        try:
            yield self._parts.stream.numbered(stepped.over)
        except GeneratorExit:
            if answer is not None:
                results = Results(self._parts.history, answer)
                with contextlib.suppress(HistoryError):
                    for call in answer.tool_calls:
                        results.not_run(call)
            raise

    def _wish(self) -> Wish:
        options = self._begin.options
        choice = "auto" if self._parts.box is None else self._parts.box.tool_choice
        choice = options.tool_choice or choice
        if choice == "required" and self._tally.steps > 0:
            choice = "auto"  # forced again and again, it would never come to an answer
        if options.json_schema is not None:
            choice = "none"
        bound = self._tally.bound(self._begin.max_tokens)
        return Wish(choice, bound, options.json_schema, options.sampling)

    def _carry_out(self, stepped: Stepped) -> Generator[Event, None, bool]:
        """Do what the answer asks for; False when there was nothing, so that the turn is over."""
        answer = stepped.answer
        if answer is None or not (answer.tool_calls or stepped.malformed):
            return False
        box = self._parts.box
        cut_short = stepped.finish_reason not in ("stop", "tool_calls")
        if cut_short or box is None:
            results = Results(self._parts.history, answer)
            why = NOT_RUN if self._stop.is_set() else _CUT_SHORT if cut_short else _NO_TOOLS
            for call in answer.tool_calls:
                yield self._own(results.not_run(call, why))
            self._at = results.last
            return False
        if stepped.malformed:
            yield from self._refuse(answer, stepped, box.registry)
            self._tally.unusable += 1
            return True
        caller = Caller(
            self._parts.history,
            box,
            self._parts.asking,
            self._parts.stream,
            self._stop,
            self._begin.turn,
            self._parts.clock,
            self._parts.engine.loaded.context_size,
        )
        yield from caller.carry_out(answer)
        self._at = caller.last
        self._tally.unusable = 0 if caller.usable else self._tally.unusable + 1
        self._tally.deny(caller.denied)
        return True

    def _refuse(self, answer: Message, stepped: Stepped, registry: Registry) -> Generator[Event, None, None]:
        """Tell the model, once, that its answer cannot be read; whoever saw calls begin is told of each."""
        results = Results(self._parts.history, answer)
        *others, last = stepped.begun or (ToolCall(self._parts.new_id(), "", ""),)
        result = ToolResult("error", _unreadable(stepped.malformed, answer.content, registry))
        told = results.add(last, result)
        self._at = results.last
        for call in others:
            yield self._own(dataclasses.replace(told, call=call.id, name=call.name))
        yield self._own(told)

    def _own(self, event: Event) -> Event:
        return self._parts.stream.own(event, self._begin.turn)


def _unreadable(fault: str, written: str, registry: Registry) -> str:
    lines = [f"A call in this answer cannot be read, and nothing was run: {fault.rstrip('.')}."]
    named = [tool for tool in registry if tool.name in written]
    for tool in named:
        schema = json.dumps(dict(tool.parameters), ensure_ascii=False)
        lines.append(f"The arguments of {tool.name} must fit this JSON Schema: {schema}")
    if not named:
        lines.append(f"Tools: {', '.join(tool.name for tool in registry) or 'none'}.")
    return "\n".join(lines)
