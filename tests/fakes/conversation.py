"""A scripted conversation that speaks the event protocol, for the faces' tests and nothing else.

It keeps a message tree in memory and answers from a list of ``Turn`` values; it computes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skippy_chat.agent.protocol import LoadedModel, ReplayReport, TurnOptions
from skippy_chat.chat.messages import Message, Role, Session, State
from skippy_chat.errors import ContextFull, EngineDied, SkippyError
from skippy_chat.events import (
    CacheUse,
    Event,
    FinishReason,
    MissReason,
    PrefillProgress,
    PrefillStarted,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    Timings,
    TurnFinished,
    TurnStarted,
    Usage,
    WorkerDied,
)

_USAGE = Usage(1105, 1101, 4, 12, 1117)
_CACHE = CacheUse("disk", 1101)
_TIMINGS = Timings(300.0, 90.0, 400.0, 250.0, 47.06)
MODEL = LoadedModel("fake-135m", "ab" * 32, "hybrid", "falcon-h1", 8192)


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted answer.

    ``extra`` events come before the text; after it ``endless`` waits for ``cancel``, ``fails`` is raised with no answer
    left behind, and ``dies`` is told by ``WorkerDied`` and then raised, what was written kept as interrupted, as a real
    conversation does.
    """

    pieces: tuple[str, ...] = ("Hello", " there.")
    reasoning: tuple[str, ...] = ()
    usage: Usage = _USAGE
    cache: CacheUse = _CACHE
    timings: Timings = _TIMINGS
    finish_reason: FinishReason = "stop"
    extra: tuple[Event, ...] = ()
    endless: bool = False
    fails: SkippyError | None = None
    dies: EngineDied | None = None


COLD = Turn(
    pieces=("Cold.",),
    usage=Usage(1103, 0, 1103, 2, 1105),
    cache=CacheUse("none", 0, MissReason("nothing_stored")),
    timings=Timings(0.0, 7900.0, 8000.0, 40.0, 46.0),
)


class FakeConversation:
    """Answers from ``turns`` in order; ``report`` is what a replay ends with."""

    def __init__(
        self,
        turns: Sequence[Turn] = (),
        *,
        session: Session | None = None,
        report: ReplayReport | None = None,
    ) -> None:
        self._session = session or Session("01FAKE", "demo", "/work", 0, 0, MODEL.name)
        self._turns = list(turns)
        self._tree: dict[str, Message] = {}
        self._head: str | None = None
        self._cancelled = threading.Event()
        self.report = report
        self.cancels = 0
        self.closed = 0
        self.asked: list[str] = []
        self.ended = 0

    @property
    def session(self) -> Session:
        return self._session

    @property
    def model(self) -> LoadedModel:
        return MODEL

    def add(self, role: Role, content: str, parent: str | None) -> Message:
        """Put a message into the tree and the head on it."""
        message = Message(f"M{len(self._tree) + 1}", self._session.id, parent, role, content)
        self._tree[message.id] = message
        self._head = message.id
        return message

    def messages(self) -> Sequence[Message]:
        return [] if self._head is None else self.branch(self._head)

    def send(self, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        head = None if self._head is None else self._tree[self._head]
        parent = head.parent if head is not None and head.state == "failed" else self._head
        return self._answer(self.add("user", text, parent))

    def regenerate(self, options: TurnOptions | None = None) -> Iterator[Event]:
        question = next(each for each in reversed(self.messages()) if each.role == "user")
        self.asked.append("regenerate")
        return self._answer(question)

    def edit(self, message: str, text: str, options: TurnOptions | None = None) -> Iterator[Event]:
        self.asked.append(f"edit {message}")
        return self._answer(self.add("user", text, self._tree[message].parent))

    def siblings(self, message: str) -> Sequence[Message]:
        parent = self._tree[message].parent
        return [each for each in self._tree.values() if each.parent == parent]

    def branch(self, message: str) -> Sequence[Message]:
        branch: list[Message] = []
        at: str | None = message
        while at is not None:
            branch.append(self._tree[at])
            at = self._tree[at].parent
        return branch[::-1]

    def leaves(self) -> Sequence[Message]:
        parents = {each.parent for each in self._tree.values()}
        return [each for each in reversed(self._tree.values()) if each.id not in parents]

    def switch(self, message: str) -> None:
        at = message
        while below := [each.id for each in self._tree.values() if each.parent == at]:
            at = below[-1]
        self._head = at

    def replay(self, message: str | None = None) -> Iterator[Event | ReplayReport]:
        self.asked.append(f"replay {message}")
        turn = self._turns.pop(0)
        yield StepFinished(usage=turn.usage, cache=turn.cache, timings=turn.timings)
        if self.report is not None:
            yield self.report

    def cancel(self) -> None:
        self.cancels += 1
        self._cancelled.set()

    def close(self) -> None:
        self.closed += 1

    def _answer(self, question: Message) -> Iterator[Event]:
        turn = self._turns.pop(0)
        self._cancelled.clear()
        self.asked.append(question.content)
        yield TurnStarted(message=question.id)
        usage = turn.usage
        yield PrefillStarted(
            prompt=usage.prompt_tokens,
            cached=usage.cached_tokens,
            source=turn.cache.source,
            miss_reason=turn.cache.miss_reason,
        )
        yield PrefillProgress(done=usage.prefilled_tokens, total=usage.prefilled_tokens)
        yield from turn.extra
        for piece in turn.reasoning:
            yield ReasoningDelta(text=piece)
        for piece in turn.pieces:
            yield TextDelta(text=piece)
        if turn.endless:
            self._cancelled.wait()
            turn = replace(turn, finish_reason="cancelled")
        if turn.fails is not None:
            if isinstance(turn.fails, ContextFull):
                self._tree[question.id] = replace(question, state="failed", finish_reason="context_full")
            raise turn.fails
        text = "".join(turn.pieces)
        if turn.dies is not None:
            if text:
                self._keep(question, text, "interrupted", None)
            yield WorkerDied(reason=turn.dies.message, log_tail=turn.dies.log_tail)
            raise turn.dies
        state: State = "interrupted" if turn.finish_reason == "cancelled" else "complete"
        answer = self._keep(question, text, state, turn.finish_reason)
        yield StepFinished(
            usage=usage, cache=turn.cache, timings=turn.timings, finish_reason=turn.finish_reason
        )
        self.ended += 1
        yield TurnFinished(usage=usage, message=answer.id)

    def _keep(self, question: Message, text: str, state: State, reason: FinishReason | None) -> Message:
        answer = replace(self.add("assistant", text, question.id), state=state, finish_reason=reason)
        self._tree[answer.id] = answer
        return answer


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
