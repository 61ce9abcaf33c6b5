"""One turn on a face: its events shown as they come, its questions put, its end and its reuse told.

Invariant: a turn's events are read to their end before anything else is asked of the conversation, and a question is
answered, or the turn stopped, before the next event is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import UsageError
from skippy_chat.events import (
    ApprovalNeeded,
    CheckpointFailed,
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
    WorkerDied,
)
from skippy_chat.interrupts import StopOnInterrupt
from skippy_chat.repl.approval import ask_about
from skippy_chat.repl.face import Answer, Face, Stopped
from skippy_chat.repl.room_telling import choices
from skippy_chat.talk import Talk
from skippy_chat.turn_log import TurnLog
from skippy_chat.wording import (
    ENDINGS,
    READING,
    death_lines,
    notice_line,
    plural,
    reuse_line,
    reuse_sentence,
    summed,
)


def run_turn(
    conversation: Conversation,
    begin: Callable[[], Iterator[Event]],
    face: Face,
    *,
    talk: Talk,
    asked: Callable[[], object] = lambda: None,
    endings: Mapping[FinishReason, str] = ENDINGS,
) -> None:
    """Follow a turn to its end; ``asked`` is called when a question is about to be put.

    ``endings`` say what a turn's end means that is no ordinary one.

    Raises:
        SkippyError: the turn failed; what was written of the answer is on the screen.
    """
    log = TurnLog()
    with face.busy(conversation.cancel) as interrupt:
        turn = _Turn(conversation, face, talk, interrupt, asked)
        try:
            for event in begin():
                log.add(event)
                turn.show(event)
        finally:
            turn.end()
    reason = log.finish_reason if log.finished is None else log.finished.finish_reason
    if interrupt.fired:
        reason = "cancelled"
    if log.died is None and reason in endings and (log.steps or interrupt.fired):
        face.status(endings[reason])
    if turn.called and reason in {"cancelled", "tool_calls"}:
        face.status("/continue goes on from here.")
    if reason == "context_full":
        face.status("\n".join(choices(None, conversation.model)))
    if log.steps:
        say = reuse_sentence if face.sentences else reuse_line
        face.status(say(*summed(log.steps)))


class _Turn:
    def __init__(
        self,
        conversation: Conversation,
        face: Face,
        talk: Talk,
        interrupt: StopOnInterrupt,
        asked: Callable[[], object],
    ) -> None:
        self._conversation = conversation
        self._face = face
        self._talk = talk
        self._interrupt = interrupt
        self._tell_asked = asked
        self._answer: Answer | None = None
        self._calls = face.calls()
        self.called = False

    def show(self, event: Event) -> None:
        """Show one event; a question is put and answered here."""
        if isinstance(event, (TextDelta, ReasoningDelta)):
            self._said(event)
        elif isinstance(event, (ToolCallDelta, ApprovalNeeded, ToolStarted, ToolOutput, ToolFinished)):
            self._call(event)
        elif isinstance(event, StepFinished):
            self._talk.clear()
            self._calls.end()
        elif isinstance(
            event, PrefillStarted
        ):  # from now on it is waited for; the first part may take seconds
            self._talk.progress(READING, 0, event.prompt - event.cached)
        elif isinstance(event, PrefillProgress):
            self._talk.progress(READING, event.done, event.total)
        elif isinstance(event, (Notice, CheckpointFailed, WorkerDied)):
            self.end()
            self._face.status(_aside(event))

    def end(self) -> None:
        """Complete whatever line is being written."""
        self._talk.clear()
        self._calls.end()
        if self._answer is not None:
            self._answer.end()

    def _said(self, event: TextDelta | ReasoningDelta) -> None:
        self._talk.clear()
        if self._answer is None:
            self._calls.end()
            self._answer = self._face.answer()
        if isinstance(event, TextDelta):
            self._answer.text(event.text)
        else:
            self._answer.reasoning(event.text)

    def _call(self, event: ToolCallDelta | ApprovalNeeded | ToolStarted | ToolOutput | ToolFinished) -> None:
        if self._answer is not None:
            # What is said after a call is an answer of its own.
            self._answer.end()
            self._answer = None
        self.called = True
        if isinstance(event, ToolCallDelta):
            unseen = self._calls.delta(event)
            if unseen:
                told = plural(unseen, "character")
                self._talk.progress("Writing the call", unseen, 0, told=told)
            return
        self._talk.clear()
        if isinstance(event, ApprovalNeeded):
            self._calls.end()
            self._ask(event)
        elif isinstance(event, ToolStarted):
            self._calls.started(event)
        elif isinstance(event, ToolOutput):
            self._calls.output(event)
        else:
            self._calls.finished(event)

    def _ask(self, event: ApprovalNeeded) -> None:
        self._calls.asked(event)
        if self._face.can_ask:
            self._tell_asked()
        try:
            answer = ask_about(event, self._face)
            self._conversation.decide(
                event.call, allowed=answer.allowed, scope=answer.scope, reason=answer.reason
            )
        except Stopped:
            self._interrupt.stop()
        except UsageError as refused:
            # The turn was stopped meanwhile; otherwise it must not wait for ever.
            if not self._interrupt.fired:
                self._talk.error(str(refused))
                self._interrupt.stop()


def _aside(event: Notice | CheckpointFailed | WorkerDied) -> str:
    if isinstance(event, WorkerDied):
        return "\n".join(death_lines(event))
    return notice_line(event) if isinstance(event, Notice) else f"Nothing was recorded: {event.reason}"
