"""A scripted conversation that speaks the event protocol, for the faces' tests and nothing else.

It keeps a message tree in memory and answers from a list of ``Turn`` values; it computes nothing. An approval really
waits for ``decide`` or ``cancel``, from the reading thread or another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skippy_chat.agent.adjusting import adjusted
from skippy_chat.agent.asides import SideAnswer
from skippy_chat.agent.asking import Answer, Asking
from skippy_chat.agent.looking import Checkpoints
from skippy_chat.agent.protocol import LoadedModel, ReplayReport, ToolInfo, TurnOptions
from skippy_chat.agent.room import Room
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.chat.messages import MADE_TITLE, Message, Session, State, ToolCall
from skippy_chat.chat.pairing import CUT_OFF, NOT_RUN
from skippy_chat.config import Settings
from skippy_chat.engine.questions import CheckpointTree, Foreseen
from skippy_chat.errors import ContextFull, HistoryError, UndoRefused, UsageError
from skippy_chat.events import (
    ApprovalNeeded,
    CacheUse,
    Event,
    FinishReason,
    Notice,
    PrefillProgress,
    PrefillStarted,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    ToolStatus,
    TurnFinished,
    TurnStarted,
    Usage,
    WorkerDied,
)
from skippy_chat.sampling import Sampling
from tests.fakes.script import COLD, Call, Question, Step, Turn
from tests.fakes.tree import FakeTree

__all__ = ["COLD", "MODEL", "Call", "Decided", "FakeConversation", "FakeHeld", "Question", "Step", "Turn"]

MODEL = LoadedModel("fake-135m", "ab" * 32, "hybrid", "falcon-h1", 8192)


@dataclass(frozen=True, slots=True)
class Decided:
    """One answer that a face gave to an ``ApprovalNeeded``."""

    call: str
    allowed: bool
    scope: str = "once"
    reason: str = ""


class FakeConversation(FakeTree):
    """Answers from ``turns`` in order; ``report`` is what a replay ends with."""

    def __init__(
        self,
        turns: Sequence[Turn] = (),
        *,
        session: Session | None = None,
        report: ReplayReport | None = None,
    ) -> None:
        super().__init__(session or Session("01FAKE", "demo", "/work", 0, 0, MODEL.name))
        self._turns = list(turns)
        self._cancelled = threading.Event()
        self._asking = Asking()
        self.report = report
        self.decisions: list[Decided] = []
        self.undone: Undone | None = None
        self.undos = 0
        self.kept = Checkpoints(CheckpointTree((), (), 0, 0, 0, 0), (), ())
        self.outlook = Foreseen(0, 0, "none", None, None, MODEL.context_size)
        self.foreseen: list[tuple[str, str | None]] = []
        self.space = Room(0, MODEL.context_size, 0, 0, 0, 0)
        self.naming: Callable[[], str] | None = None
        self.taken = ""
        self.draft = ""
        self.settings = Settings()
        self.loaded = MODEL
        self.drafts: list[str] = []
        self.kept_unused = False
        self.offered: tuple[ToolInfo, ...] = ()
        self.options: list[TurnOptions | None] = []
        self.cancels = 0
        self.closed = 0
        self.ended = 0

    @property
    def session(self) -> Session:
        return self._session

    @property
    def model(self) -> LoadedModel:
        return self.loaded

    @property
    def tools(self) -> Sequence[ToolInfo]:
        return self.offered

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        self.options.append(options)
        head = None if self._head is None else self._tree[self._head]
        parent = head.parent if head is not None and head.state == "failed" else self._head
        return self._ask(self.add("user", text, parent))

    def regenerate(self, options: TurnOptions | None = None) -> Iterator[Event]:
        self.options.append(options)
        question = next(each for each in reversed(self.messages()) if each.role == "user")
        self.asked.append("regenerate")
        self._head = question.id
        return self._ask(question)

    def edit(self, message: str, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        self.options.append(options)
        self.asked.append(f"edit {message}")
        return self._ask(self.add("user", text, self._tree[message].parent))

    def sampling(self) -> Sampling:
        return Sampling(seed=7)

    def room(self) -> Room:
        return self.space

    def compact(self) -> Iterator[Event]:
        self.asked.append("compact")
        branch = [each for each in self.messages() if each.state != "failed"]
        asked = [n for n, each in enumerate(branch) if each.role == "user"]
        if not asked:
            raise UsageError("There is nothing to sum up.")
        before = self._head
        turn = self._turns.pop(0)
        self._cancelled.clear()
        yield TurnStarted(message=branch[-1].id)
        yield from _reading(turn.usage, turn.cache)
        yield from _said(turn.reasoning, turn.pieces)
        if turn.endless:
            self._cancelled.wait()
        if turn.fails is not None:
            raise turn.fails
        reason: FinishReason = "cancelled" if turn.endless else turn.finish_reason
        if not turn.endless:
            self._head = branch[0].id if branch[0].role == "system" else None
            note = f"[{asked[-1]} messages were left out; this is their summary.]"
            self._keep(replace(_NOTHING, role="user", content=note))
            self._keep(replace(_NOTHING, content="".join(turn.pieces), finish_reason="stop"))
            self._copy(branch[asked[-1] :])
        assert self._head != before or turn.endless
        yield StepFinished(usage=turn.usage, cache=turn.cache, timings=turn.timings, finish_reason=reason)
        yield self._finished(turn.usage, reason)

    def replay(self, message: str | None = None) -> Iterator[Event | ReplayReport]:
        self.asked.append(f"replay {message}")
        turn = self._turns.pop(0)
        yield StepFinished(usage=turn.usage, cache=turn.cache, timings=turn.timings)
        if self.report is not None:
            yield self.report

    def decide(self, call: str, *, allowed: bool, scope: str = "once", reason: str = "") -> None:
        self._asking.decide(call, Answer(allowed, scope, reason))
        self.decisions.append(Decided(call, allowed, scope, reason))

    def go_on(self) -> Iterator[Event]:
        self.asked.append("go_on")
        return self._answer(next(each for each in reversed(self.messages()) if each.role == "user"))

    def aside(self, text: str, *, max_tokens: int = 64) -> Callable[[], SideAnswer]:
        self.asked.append(f"aside {text}")
        return lambda: SideAnswer("Aside.", "", StepFinished())

    def entitle(self) -> Callable[[], Session] | None:
        if self._session.title or self.naming is None:
            return None
        naming, self.naming = self.naming, None

        def ask() -> Session:
            self._session = replace(self._session, settings={MADE_TITLE: naming()})
            return self._session

        return ask

    def adjust(self, changes: Mapping[str, object]) -> Settings:
        self.settings = adjusted(self.settings, changes)
        return self.settings

    def rename(self, title: str) -> Session:
        if title == self.taken:
            raise HistoryError(f"A session named {title!r} exists already.", "Choose another name.")
        self._session = replace(self._session, title=title)
        return self._session

    def keep_draft(self, text: str) -> None:
        self.draft = text
        self.drafts.append(text)

    def keep(self) -> None:
        self.kept_unused = True

    def checkpoints(self) -> Checkpoints:
        return self.kept

    def foresee(self, text: str, message: str | None = None) -> Foreseen:
        self.foreseen.append((text, message))
        return self.outlook

    def undo(self) -> Undone:
        self.undos += 1
        if self.undone is None:
            raise UndoRefused("No turn of this branch wrote files.")
        undone, self.undone = self.undone, None
        return undone

    def cancel(self) -> None:
        self.cancels += 1
        self._cancelled.set()
        self._asking.cancel()

    def close(self) -> None:
        self.closed += 1

    def _ask(self, question: Message) -> Iterator[Event]:
        self.asked.append(question.content)
        return self._answer(question)

    def _answer(self, question: Message) -> Iterator[Event]:
        turn = self._turns.pop(0)
        self._cancelled.clear()
        self._asking.begin()
        yield TurnStarted(message=question.id)
        total = Usage()
        for step in turn.steps:
            yield from _reading(step.usage, step.cache)
            yield from self._calling(step)
            total = total.plus(step.usage)
            if self._cancelled.is_set():
                yield self._finished(total, "cancelled")
                return
        if turn.limited:
            yield Notice(level="warning", text="Stopped at the limit.", hint="It can go on.")
            yield self._finished(total, "tool_calls")
            return
        yield from self._last_step(question, turn, total)

    def _last_step(self, question: Message, turn: Turn, total: Usage) -> Iterator[Event]:
        yield from _reading(turn.usage, turn.cache)
        yield from turn.extra
        yield from _said(turn.reasoning, turn.pieces)
        if turn.endless:
            self._cancelled.wait()
            turn = replace(turn, finish_reason="cancelled")
        if turn.fails is not None:
            if isinstance(turn.fails, ContextFull):
                self._tree[question.id] = replace(question, state="failed", finish_reason="context_full")
            raise turn.fails
        kept = replace(_NOTHING, content="".join(turn.pieces), reasoning="".join(turn.reasoning) or None)
        if turn.dies is not None:
            if kept.content:
                self._keep(replace(kept, state="interrupted"))
            yield WorkerDied(reason=turn.dies.message, log_tail=turn.dies.log_tail)
            raise turn.dies
        state: State = "interrupted" if turn.finish_reason == "cancelled" else "complete"
        self._keep(replace(kept, state=state, finish_reason=turn.finish_reason))
        yield StepFinished(
            usage=turn.usage, cache=turn.cache, timings=turn.timings, finish_reason=turn.finish_reason
        )
        yield self._finished(total.plus(turn.usage), turn.finish_reason)

    def _finished(self, usage: Usage, reason: FinishReason) -> TurnFinished:
        self.ended += 1
        return TurnFinished(usage=usage, message=self._head or "", finish_reason=reason)

    def _calling(self, step: Step) -> Iterator[Event]:
        yield from _said(step.reasoning, step.pieces)
        for call in step.calls:
            yield ToolCallDelta(call=call.id, name=call.name)
            for piece in call.arguments:
                yield ToolCallDelta(call=call.id, arguments=piece)
        self._keep(
            replace(
                _NOTHING,
                content="".join(step.pieces),
                reasoning="".join(step.reasoning) or None,
                tool_calls=tuple(ToolCall(each.id, each.name, each.raw) for each in step.calls),
                finish_reason="tool_calls",
            )
        )
        yield StepFinished(
            usage=step.usage, cache=step.cache, timings=step.timings, finish_reason="tool_calls"
        )
        for call in step.calls:
            yield from self._call(call)

    def _call(self, call: Call) -> Iterator[Event]:
        if self._cancelled.is_set():
            yield self._result(call, "error", NOT_RUN)
            return
        if call.question is not None:
            asked = call.question
            self._asking.open(call.id, asked.scopes)
            yield ApprovalNeeded(
                call=call.id,
                name=call.name,
                arguments=call.raw,
                text=asked.text,
                diff=asked.diff,
                why=asked.why,
                scopes=asked.scopes,
                rules=asked.rules,
            )
            answer = self._asking.wait()
            if answer is None or not answer.allowed:
                denied = NOT_RUN if answer is None else f"The person denied this call: {answer.reason}"
                yield self._result(call, "error" if answer is None else "denied", denied)
                return
        if not call.usable:
            yield self._result(call, "error", call.result)
            return
        yield ToolStarted(call=call.id, name=call.name, arguments=call.raw)
        for piece in call.output:
            yield ToolOutput(call=call.id, text=piece)
        if call.endless:
            self._cancelled.wait()
            yield self._result(call, "error", CUT_OFF)
            return
        yield self._result(call, call.status, call.result, call.detail, call.spilled)

    def _result(
        self, call: Call, status: ToolStatus, result: str, detail: str = "", spilled: str = ""
    ) -> ToolFinished:
        kept = self._keep(
            replace(_NOTHING, role="tool", content=result, tool_call_id=call.id, status=status, detail=detail)
        )
        return ToolFinished(
            call=call.id,
            name=call.name,
            status=status,
            result=result,
            detail=detail,
            spilled=spilled,
            message=kept.id,
        )


class FakeHeld:
    """A session that another process writes, with what that process has said so far."""

    def __init__(self, conversation: FakeConversation, writer: int | None = 4711) -> None:
        self._conversation = conversation
        self.writer = writer
        self.closed = 0

    @property
    def session(self) -> Session:
        return self._conversation.session

    def messages(self) -> Sequence[Message]:
        return self._conversation.messages()

    def siblings(self, message: str) -> Sequence[Message]:
        return self._conversation.siblings(message)

    def close(self) -> None:
        self.closed += 1


_NOTHING = Message("", "", None, "assistant", "")


def _reading(usage: Usage, cache: CacheUse) -> Iterator[Event]:
    yield PrefillStarted(
        prompt=usage.prompt_tokens,
        cached=usage.cached_tokens,
        source=cache.source,
        miss_reason=cache.miss_reason,
    )
    yield PrefillProgress(done=usage.prefilled_tokens, total=usage.prefilled_tokens)


def _said(reasoning: Sequence[str], pieces: Sequence[str]) -> Iterator[Event]:
    for piece in reasoning:
        yield ReasoningDelta(text=piece)
    for piece in pieces:
        yield TextDelta(text=piece)
