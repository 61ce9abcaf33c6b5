"""A turn as it passes over the screen: events in, transcript and status bar out.

Invariant: deltas are gathered and shown once per drain, since a paint per token costs more than the token.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from skippy_chat.errors import SkippyError
from skippy_chat.events import (
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
    ToolStarted,
    TurnFinished,
    TurnStarted,
    WorkerDied,
)
from skippy_chat.tui.message import Level, MessageView
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.turn_log import TurnLog
from skippy_chat.wording import PrefillRate, death_lines, notice_line, reuse_line

_PATIENCE_MS = 1000


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
        question: MessageView | None,
        rate: PrefillRate,
    ) -> None:
        self._transcript = transcript
        self._bar = bar
        self._question = question
        self._rate = rate
        self._reading_since = 0
        self._notes: list[tuple[Level, str]] = []
        self._asked = ""
        self.log = TurnLog()
        self.answer = transcript.answer()

    def take(self, events: list[Event]) -> None:
        """Show what these events say."""
        for kind, group in groupby(events, key=type):
            together = list(group)
            for event in together:
                self.log.add(event)
            if kind is TextDelta:
                self.answer.grow_text("".join(each.text for each in together if isinstance(each, TextDelta)))
                self._bar.change(doing="writing", detail="· Esc stops")
            elif kind is ReasoningDelta:
                said = "".join(each.text for each in together if isinstance(each, ReasoningDelta))
                self.answer.grow_thought(said)
                self._bar.change(doing="writing", detail="reasoning · Esc stops")
            elif kind is not ToolCallDelta:
                for event in together:
                    self._take(event)

    def fail(self, error: Exception) -> None:
        """Say why the turn broke off."""
        if self.log.died is not None and isinstance(error, SkippyError):
            self._note("info", error.hint)
        elif isinstance(error, SkippyError):
            self._note("error", str(error))
        else:
            self._note("error", f"A fault in the program: {type(error).__name__}: {error}")

    def settle(self) -> None:
        """Give the notes to a message that stays, when no answer was stored."""
        views = self._transcript.views
        if self.answer not in views and views:
            for level, text in self._notes:
                views[-1].note(level, text)

    def _take(self, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self._asked = event.message
            if self._question is not None:
                self._question.message_id = event.message
        elif isinstance(event, StepFinished):
            self._step(event)
        elif isinstance(event, TurnFinished):
            if event.message != self._asked:
                self.answer.message_id = event.message
        elif isinstance(event, (Notice, CheckpointFailed, WorkerDied, ToolFinished)):
            self._note(*_noticed(event))
        else:
            self._progress(event)

    def _progress(self, event: Event) -> None:
        if isinstance(event, PrefillStarted):
            self._reading_since = event.at_ms
            self._bar.change(doing="reading", detail="· Esc stops")
        elif isinstance(event, PrefillProgress):
            if event.at_ms - self._reading_since >= _PATIENCE_MS:
                self._bar.change(detail=f"{event.done:,} of {event.total:,} tokens · Esc stops")
        elif isinstance(event, ToolStarted):
            self._bar.change(detail=f"running {event.name} · Esc stops")

    def _step(self, event: StepFinished) -> None:
        usage = self.log.usage
        first = self.log.steps[0]
        # The speed has its place in the bar's first line.
        timings = replace(first.timings, tokens_per_second=0.0)
        line = reuse_line(
            usage if len(self.log.steps) > 1 else first.usage, first.cache, timings, rate=self._rate
        )
        self._rate.learn(event.usage, event.timings)
        self._bar.change(context=event.usage.context_tokens, speed=event.timings.tokens_per_second, last=line)

    def _note(self, level: Level, text: str) -> None:
        if text:
            self._notes.append((level, text))
            self.answer.note(level, text)


def _noticed(event: Notice | CheckpointFailed | WorkerDied | ToolFinished) -> tuple[Level, str]:
    if isinstance(event, Notice):
        return event.level, notice_line(event)
    if isinstance(event, CheckpointFailed):
        return "info", f"Nothing was recorded: {event.reason}"
    if isinstance(event, WorkerDied):
        return "error", "\n".join(death_lines(event))
    return ("info", "") if event.status == "ok" else ("warning", f"A tool call ended: {event.status}.")
