"""Carrying out the calls of one answer: judge, ask, run, store, tell.

Invariant: however it ends, each call of the answer has one result. No call runs that was not judged just as it stands,
and none whose name or arguments do not fit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import cast

from skippy_chat.agent.approvals.policy import bound, without_terminal
from skippy_chat.agent.approvals.showing import show
from skippy_chat.agent.approvals.values import Allow, Approval, Ask, Decision, Deny, Scope
from skippy_chat.agent.asking import Asking
from skippy_chat.agent.fitting import bounded
from skippy_chat.agent.results import Results
from skippy_chat.agent.running import Emit, Job, run_jobs
from skippy_chat.agent.stream import EventStream
from skippy_chat.agent.toolbox import Toolbox
from skippy_chat.agent.tools.protocol import Call, ToolContext, ToolResult
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.errors import ConfigError, HistoryError
from skippy_chat.events import ApprovalNeeded, Event, Notice, ToolOutput, ToolStarted

_SAID_NO = "The person said no to this call"


@dataclass(frozen=True, slots=True)
class _Judged:
    """A call that can be run, and what was said about it."""

    call: ToolCall
    made: Call
    judgement: Allow | Ask

    @property
    def free(self) -> bool:
        """Whether it may run beside others: nobody is asked, and it changes nothing."""
        return isinstance(self.judgement, Allow) and self.made.tool.read_only


@dataclass(frozen=True, slots=True)
class _Allowed:
    """A call that is to run, and under what."""

    call: ToolCall
    made: Call
    judged: Allow | Approval


class Caller:
    """Carries out calls within one turn."""

    def __init__(
        self,
        history: History,
        box: Toolbox,
        asking: Asking,
        stream: EventStream,
        stop: threading.Event,
        turn: str,
        clock: Callable[[], float],
        context_tokens: int,
    ) -> None:
        """``stop`` is set when the turn is to end; ``turn`` is its id, and that of its undo entries.

        ``context_tokens`` is what the model's context holds: no result is to fill it alone.
        """
        self._history = history
        self._box = box
        self._asking = asking
        self._stream = stream
        self._stop = stop
        self._turn = turn
        self._clock = clock
        journal = None if box.journal is None else box.journal.turn(turn)
        limits = bounded(box.context.limits, context_tokens)
        self._context = dataclasses.replace(box.context, cancel=stop, journal=journal, limits=limits)
        self.last = ""
        self.usable = False
        self.denied: list[ToolCall] = []

    def carry_out(self, answer: Message) -> Generator[Event, None, None]:
        """Carry out an answer's calls.

        Afterwards ``last`` is the id of the last stored message, and ``usable`` says whether one of the calls at least
        named a tool and fitted it; ``denied`` are those that were denied without a person's word.
        """
        results = Results(self._history, answer)
        left = list(answer.tool_calls)
        self.usable = False
        self.denied = []
        try:
            while left and not self._stop.is_set():
                judged = self._judge(left[0])
                if isinstance(judged, ToolResult):
                    if judged.status == "denied":
                        self.denied.append(left[0])
                    yield self._own(results.add(left.pop(0), judged))
                    continue
                if isinstance(judged.judgement, Ask):
                    yield from self._ask(judged, judged.judgement.approval, results, left)
                    continue
                together = self._together(judged, left)
                del left[: len(together)]
                yield from self._run(together, results)
            while left:
                yield self._own(results.not_run(left.pop(0)))
        finally:
            # Whoever read the events may have gone; what is stored must be whole all the same.
            with contextlib.suppress(HistoryError):
                for call in left:
                    results.not_run(call)
            self.last = results.last

    def _judge(self, call: ToolCall) -> _Judged | ToolResult:
        """Say what becomes of a call; a result says why it cannot run."""
        made = self._box.registry.resolve(call.name, call.arguments)
        if isinstance(made, ToolResult):
            return made
        self.usable = True
        judgement = self._box.policy.judge(made, self._context)
        if not self._box.can_ask:
            judgement = without_terminal(judgement)
        if isinstance(judgement, Deny):
            return ToolResult("denied", judgement.reason)
        return _Judged(call, made, judgement)

    def _together(self, first: _Judged, left: Sequence[ToolCall]) -> list[_Allowed]:
        """Return the calls that may run at the same moment, beginning with the first, which may run."""
        free = [first]
        while self._box.parallel and free[-1].free and len(free) < len(left):
            following = self._judge(left[len(free)])
            if isinstance(following, ToolResult) or not following.free:
                break
            free.append(following)
        return [_Allowed(each.call, each.made, cast("Allow", each.judgement)) for each in free]

    def _ask(
        self, judged: _Judged, approval: Approval, results: Results, left: list[ToolCall]
    ) -> Generator[Event, None, None]:
        """Ask about a call and carry out the answer; a call that is not answered stays in ``left``."""
        call = judged.call
        self._asking.open(call.id, approval.scopes)
        yield self._own(_question(call, approval))
        answer = self._asking.wait()
        if answer is None:
            self._stop.set()
            return
        decision = Decision(approval, answer.allowed, cast("Scope", answer.scope), answer.reason)
        try:
            self._box.policy.remember(decision)
        except ConfigError as error:
            yield self._own(Notice(level="warning", text=error.message, hint=error.hint))
        left.pop(0)
        if not answer.allowed:
            text = f"{_SAID_NO}: {answer.reason}" if answer.reason else f"{_SAID_NO}."
            yield self._own(results.add(call, ToolResult("denied", text)))
            return
        yield from self._run([_Allowed(call, judged.made, approval)], results)

    def _run(self, calls: Sequence[_Allowed], results: Results) -> Generator[Event, None, None]:
        stored = [results.begin(each.call) for each in calls]
        begun = 0
        try:
            for each in calls:
                yield self._own(
                    ToolStarted(call=each.call.id, name=each.call.name, arguments=each.call.arguments)
                )
            jobs = [self._job(each) for each in calls]
            with contextlib.closing(run_jobs(jobs, self._stop, self._clock)) as items:
                begun = len(calls)
                for index, item in items:
                    each = calls[index]
                    if isinstance(item, str):
                        yield self._own(ToolOutput(call=each.call.id, text=item))
                        continue
                    cut_off = self._stop.is_set() and item.status != "ok"
                    told = results.finish(stored[index], each.call, item, cut_off=cut_off)
                    self._box.policy.record(each.made, item)
                    yield self._own(told)
        finally:
            if begun == 0:
                with contextlib.suppress(HistoryError):
                    for each, message in zip(calls, stored, strict=True):
                        results.withdraw(message, each.call)

    def _job(self, allowed: _Allowed) -> Job:
        def job(emit: Emit) -> ToolResult:
            context: ToolContext = dataclasses.replace(
                bound(self._context, allowed.judged), emit=emit, call=allowed.call.id
            )
            return self._box.registry.execute(allowed.made, context)

        return job

    def _own(self, event: Event) -> Event:
        return self._stream.own(event, self._turn)


def recall(branch: Sequence[Message], box: Toolbox) -> None:
    """Let the policy know what the calls of a branch gave, so that a circle is noticed across a restart."""
    calls: dict[str | None, ToolCall] = {}
    for message in branch:
        if message.role != "tool":
            calls = {call.id: call for call in message.tool_calls}
            continue
        call = calls.get(message.tool_call_id)
        if call is None or message.state != "complete" or message.status in (None, "denied"):
            continue
        made = box.registry.resolve(call.name, call.arguments)
        if isinstance(made, Call):
            box.policy.record(made, ToolResult(message.status, message.content))


def _question(call: ToolCall, approval: Approval) -> ApprovalNeeded:
    return ApprovalNeeded(
        call=call.id,
        name=call.name,
        arguments=call.arguments,
        text=approval.text,
        diff=approval.diff,
        why=approval.why,
        scopes=approval.scopes,
        rules=tuple(show(f"{rule.tool} {rule.pattern}".strip()) for rule in approval.rules),
    )
