"""A turn as it passes over the screen: events in, transcript, question and status bar out.

Invariant: deltas are gathered and shown once per drain, since a paint per token costs more than the token. An answer
and a card are added for each message that the turn stores, in the same order, so that they become those messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from skippy_chat.errors import SkippyError
from skippy_chat.events import (
    ApprovalNeeded,
    CheckpointFailed,
    Event,
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
    TurnFinished,
    TurnStarted,
    WorkerDied,
)
from skippy_chat.tui.answer import AnswerView
from skippy_chat.tui.approval import ApprovalPanel
from skippy_chat.tui.card import ToolCard
from skippy_chat.tui.display import visible_line
from skippy_chat.tui.message import Level, MessageView
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.turn_log import TurnLog
from skippy_chat.wording import PrefillRate, death_lines, notice_line, reuse_line, summed

_PATIENCE_MS = 1000
_STOPPED_BETWEEN = "Stopped; what was done is kept. /continue goes on."
_LIMITED = "/continue goes on."


class TurnView:
    """One running turn on the screen.

    Args:
        question: the view of the person's message, when it was just added.
        rate: how fast this model reads, learnt turn by turn.
    """

    def __init__(
        self,
        transcript: Transcript,
        bar: StatusBar,
        approval: ApprovalPanel,
        question: MessageView | None,
        rate: PrefillRate,
    ) -> None:
        self._transcript = transcript
        self._bar = bar
        self._approval = approval
        self._question = question
        self._rate = rate
        self._reading_since = 0
        self._notes: list[tuple[MessageView | None, Level, str]] = []
        self._stored: set[str] = set()  # messages that are not the answer of a step
        self._answer: AnswerView | None = None
        self._cards: dict[str, ToolCard] = {}
        self._last: MessageView | None = question
        self._running = ""
        self._running_since: float | None = None
        self.log = TurnLog()
        transcript.follow()

    @property
    def limited(self) -> bool:
        """Whether a limit ended the turn between two steps."""
        return self.log.finish_reason == "tool_calls"

    def take(self, events: list[Event]) -> None:
        """Show what these events say."""
        for kind, group in groupby(events, key=type):
            together = list(group)
            for event in together:
                self.log.add(event)
            if kind is TextDelta:
                said = "".join(each.text for each in together if isinstance(each, TextDelta))
                self._answering().grow_text(said)
                self._bar.change(doing="writing", detail="· Esc stops")
            elif kind is ReasoningDelta:
                said = "".join(each.text for each in together if isinstance(each, ReasoningDelta))
                self._answering().grow_thought(said)
                self._bar.change(doing="writing", detail="reasoning · Esc stops")
            elif kind in (ToolCallDelta, ToolOutput):
                self._of_calls(together)
            else:
                for event in together:
                    self._take(event)

    def tick(self, now: float) -> None:
        """Show how long a tool has been running; ``now`` is in seconds."""
        if not self._running:
            return
        if self._running_since is None:
            self._running_since = now
        elif now - self._running_since >= 1:
            ran = f"{now - self._running_since:.0f} s"
            self._bar.change(detail=f"{self._running} {ran} · Esc stops")

    def fail(self, error: Exception) -> None:
        """Say why the turn broke off."""
        if self.log.died is not None and isinstance(error, SkippyError):
            self._note("info", error.hint)
        elif isinstance(error, SkippyError):
            self._note("error", str(error))
        else:
            self._note("error", f"A fault in the program: {type(error).__name__}: {error}")

    def settle(self) -> None:
        """Give the notes to a message that stays, where the one they stood under was not stored."""
        views = self._transcript.views
        for view, level, text in self._notes:
            if view not in views:
                self._transcript.note(level, text)

    def _take(self, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self._stored.add(event.message)
            if self._question is not None:
                self._question.message_id = event.message
        elif isinstance(event, StepFinished):
            self._step(event)
        elif isinstance(event, TurnFinished):
            self._finished(event)
        elif isinstance(event, Notice):
            self._note(event.level, notice_line(event))
        elif isinstance(event, CheckpointFailed):
            self._note("info", f"Nothing was recorded: {event.reason}")
        elif isinstance(event, WorkerDied):
            self._note("error", "\n".join(death_lines(event)))
        elif isinstance(event, (ApprovalNeeded, ToolStarted, ToolFinished)):
            self._of_call(event)
        else:
            self._progress(event)

    # Answers

    def _answering(self) -> AnswerView:
        """Return the answer of the step that runs, making one where none is."""
        if self._answer is None:
            self._answer = self._transcript.answer()
            self._cards = {}
            self._last = self._answer
        return self._answer

    def _progress(self, event: Event) -> None:
        if isinstance(event, PrefillStarted):
            self._answer = None
            self._answering()
            self._reading_since = event.at_ms
            self._bar.change(doing="reading", detail="· Esc stops")
        elif isinstance(event, PrefillProgress) and event.at_ms - self._reading_since >= _PATIENCE_MS:
            self._bar.change(detail=f"{event.done:,} of {event.total:,} tokens · Esc stops")

    def _step(self, event: StepFinished) -> None:
        if self._answer is not None:
            self._answer.fold_thought()
        usage, cache, timings = summed(self.log.steps)
        # The speed has its place in the bar's first line.
        line = reuse_line(usage, cache, replace(timings, tokens_per_second=0.0), rate=self._rate)
        self._rate.learn(event.usage, event.timings)
        self._bar.change(context=event.usage.context_tokens, speed=event.timings.tokens_per_second, last=line)

    def _finished(self, event: TurnFinished) -> None:
        self._approval.close()
        if event.message not in self._stored:
            if self._answer is not None:
                self._answer.message_id = event.message
        elif event.finish_reason == "cancelled":
            self._note("info", _STOPPED_BETWEEN)  # no answer of this step was stored that could say so
        if event.finish_reason == "tool_calls":
            self._note("info", _LIMITED)

    # Calls

    def _card(self, call: str) -> ToolCard:
        if call not in self._cards:
            self._cards[call] = self._last = self._transcript.card()
        return self._cards[call]

    def _of_calls(self, events: Sequence[Event]) -> None:
        """Show what was written of calls, and what calls said; once for each."""
        written: dict[str, tuple[str, list[str]]] = {}
        said: dict[str, list[str]] = {}
        for event in events:
            if isinstance(event, ToolCallDelta):
                name, pieces = written.setdefault(event.call, (event.name, []))
                written[event.call] = (name or event.name, [*pieces, event.arguments])
            elif isinstance(event, ToolOutput):
                said.setdefault(event.call, []).append(event.text)
        for call, (name, pieces) in written.items():
            self._answering().fold_thought()
            self._card(call).write(name, "".join(pieces))
            self._bar.change(doing="writing", detail="a call · Esc stops")
        for call, outputs in said.items():
            self._card(call).say("".join(outputs))

    def _of_call(self, event: ApprovalNeeded | ToolStarted | ToolFinished) -> None:
        card = self._card(event.call)
        if isinstance(event, ApprovalNeeded):
            card.ask(event.name, event.arguments)
            self._approval.ask(event, card)
            self._bar.change(doing="asking", detail="· Esc stops")
            return
        self._approval.close(event.call)
        if isinstance(event, ToolStarted):
            card.start(event.name, event.arguments, event.at_ms)
            self._running, self._running_since = visible_line(event.name, 40), None
            self._bar.change(doing="running", detail=f"{self._running} · Esc stops")
        else:
            card.finish(event)
            self._stored.add(event.message)
            self._running = ""
            self._bar.change(doing="reading", detail="· Esc stops")

    def _note(self, level: Level, text: str) -> None:
        if not text:
            return
        view = self._last or (self._transcript.views[-1] if self._transcript.views else None)
        self._notes.append((view, level, text))
        if view is not None:
            view.note(level, text)
