"""One turn without a face: events in, data on standard output, talk on standard error.

Invariant: a turn's events are read to their end whatever happens to the output, so that the answer is stored; and no
control character of a model reaches standard output, inside JSON or outside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import TextIO

from skippy_chat.agent.protocol import Conversation, ReplayReport
from skippy_chat.errors import (
    EXIT_CONTEXT_FULL,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NATIVE,
    SkippyError,
)
from skippy_chat.events import (
    SCHEMA,
    ApprovalNeeded,
    CheckpointFailed,
    Event,
    Notice,
    PrefillProgress,
    PrefillStarted,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    WorkerDied,
    to_dict,
)
from skippy_chat.interrupts import StopOnInterrupt
from skippy_chat.talk import Talk, line_width, on_terminal
from skippy_chat.text.json_text import json_line
from skippy_chat.text.sanitise import Sanitiser
from skippy_chat.text.wrap import WordWrap
from skippy_chat.tool_wording import call_line, result_line
from skippy_chat.turn_log import TurnLog
from skippy_chat.wording import READING, death_lines, ending, notice_line, plural, reuse_line, summed


class Shape(Enum):
    """What standard output holds: the answer's text, one object, or the events."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"


def run_turn(
    conversation: Conversation, events: Iterator[Event], *, shape: Shape, stdout: TextIO, talk: Talk
) -> int:
    """Follow a turn to its end and print it; return the exit code.

    As text, a pipe gets the answer alone: what the model says before it calls tools goes to ``talk``. A terminal shows
    everything as it comes. Nobody is asked here, so a call that would ask is denied.

    Raises:
        SkippyError: the turn failed; what was written of the answer is on standard output.
        OSError: standard output went away; the answer was stopped, and what was written is stored.
    """
    log = TurnLog()
    with StopOnInterrupt(conversation.cancel, second_kills=True) as interrupt:
        _follow(conversation, events, log, _turn_writer(shape, stdout, conversation, talk), talk)
    if shape is Shape.JSON:
        stdout.write(json_line(log.as_json(conversation.session.id, conversation.model), stdout))
    talk.clear()
    if log.steps:
        talk.aside(reuse_line(*summed(log.steps)))
    if log.died is None and ending(log.finish_reason) and not interrupt.fired:
        talk.note(ending(log.finish_reason))
    return EXIT_INTERRUPTED if interrupt.fired else _exit_code(log)


def run_replay(
    conversation: Conversation,
    items: Iterator[Event | ReplayReport],
    *,
    shape: Shape,
    stdout: TextIO,
    talk: Talk,
) -> int:
    """Follow a replay to its report and print that; return 0 when every id is the same, else 1."""
    log, found = TurnLog(), _Report()
    # The replayed text is the stored answer's: only the events stream, the report is what was asked for.
    writer = _writer(shape, stdout) if shape is Shape.JSONL else _Writer(stdout)
    with StopOnInterrupt(conversation.cancel, second_kills=True) as interrupt:
        _follow(conversation, found.taken_from(items), log, writer, talk)
    talk.clear()
    report = found.report
    if interrupt.fired or report is None:
        talk.note("The replay was stopped before its end.")
        return EXIT_INTERRUPTED if interrupt.fired else EXIT_FAILED
    fields = dataclasses.asdict(report)
    if shape is Shape.JSON:
        stdout.write(json_line({"schema": SCHEMA, "replay": fields, "steps": log.steps_json()}, stdout))
    elif shape is Shape.JSONL:
        stdout.write(json_line({"schema": SCHEMA, "type": "replay_report", **fields}, stdout))
    else:
        stdout.write(f"{replay_sentence(report)}\n")
    return 0 if report.same_ids else EXIT_FAILED


def replay_sentence(report: ReplayReport) -> str:
    """Return a replay's result in words."""
    compared = plural(report.compared_tokens, "token")
    if report.same_ids:
        return f"Replay of {report.message}: {compared} compared, the same ids."
    return f"Replay of {report.message}: {compared} compared, ids differ from token {report.first_difference} on."


class _Report:
    """Set the report apart from the events around it."""

    def __init__(self) -> None:
        self.report: ReplayReport | None = None

    def taken_from(self, items: Iterator[Event | ReplayReport]) -> Iterator[Event]:
        for item in items:
            if isinstance(item, ReplayReport):
                self.report = item
            else:
                yield item


class _Writer:
    """Write nothing as events pass; what else a shape writes is in its subclass."""

    def __init__(self, stdout: TextIO) -> None:
        self.stdout = stdout

    def take(self, event: Event) -> None:
        """Write what this event adds."""

    def end(self) -> None:
        """Complete what was begun."""


class _TextWriter(_Writer):
    def __init__(self, stdout: TextIO) -> None:
        super().__init__(stdout)
        self._clean = Sanitiser()
        self._wrap = WordWrap(lambda: line_width(stdout))
        self._last = "\n"

    def take(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._put(self._wrap.feed(self._clean.feed(event.text)))
        elif isinstance(event, StepFinished):
            self.end()

    def end(self) -> None:
        self._put(self._wrap.feed(self._clean.flush()) + self._wrap.flush())
        if self._last != "\n":
            self._put("\n")

    def _put(self, text: str) -> None:
        if text:
            self.stdout.write(text)
            self.stdout.flush()
            self._last = text[-1]


class _AnswerWriter(_TextWriter):
    """Hold a step's text back until it is known to be the last one's; the others' goes to ``talk``."""

    def __init__(self, stdout: TextIO, talk: Talk) -> None:
        super().__init__(stdout)
        self._talk = talk
        self._held: list[TextDelta] = []

    def take(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._held.append(event)
        elif isinstance(event, (PrefillStarted, ToolStarted, ToolFinished)):
            said = "".join(each.text for each in self._held)
            if said.strip():
                self._talk.note(said)
            self._held.clear()

    def end(self) -> None:
        for event in self._held:
            super().take(event)
        self._held.clear()
        super().end()


class _EventWriter(_Writer):
    def take(self, event: Event) -> None:
        self.stdout.write(json_line(to_dict(event), self.stdout))
        self.stdout.flush()


def _writer(shape: Shape, stdout: TextIO) -> _Writer:
    return {Shape.TEXT: _TextWriter, Shape.JSON: _Writer, Shape.JSONL: _EventWriter}[shape](stdout)


def _turn_writer(shape: Shape, stdout: TextIO, conversation: Conversation, talk: Talk) -> _Writer:
    if shape is Shape.TEXT and conversation.tools and not on_terminal(stdout):
        return _AnswerWriter(stdout, talk)
    return _writer(shape, stdout)


def _follow(
    conversation: Conversation, events: Iterator[Event], log: TurnLog, writer: _Writer, talk: Talk
) -> None:
    lost: OSError | None = None
    try:
        for event in events:
            log.add(event)
            _say(event, talk)
            if lost is None:
                lost = _take(writer, event)
                if lost is not None:
                    conversation.cancel()
            _say_tools(event, log, talk)
            if isinstance(event, ApprovalNeeded):
                conversation.decide(event.call, allowed=False, reason="Nobody can be asked here.")
    except SkippyError:
        if lost is None:
            writer.end()
        raise
    if lost is not None:
        raise lost
    writer.end()


def _take(writer: _Writer, event: Event) -> OSError | None:
    try:
        writer.take(event)
    except OSError as error:
        return error
    return None


def _say_tools(event: Event, log: TurnLog, talk: Talk) -> None:
    """Tell of calls, after what the model said before it made them."""
    if isinstance(event, ToolStarted):
        talk.note(f"→ {call_line(event.name, event.arguments)}")
    elif isinstance(event, ToolOutput):
        talk.progress(log.named(event.call), 0, 0)
    elif isinstance(event, ToolFinished):
        if event.name and not log.ran(event.call):
            talk.note(f"→ {call_line(event.name, log.arguments(event.call))}")
        talk.note(result_line(event))


def _say(event: Event, talk: Talk) -> None:
    if isinstance(event, PrefillStarted):  # from now on it is waited for; the first part may take seconds
        talk.progress(READING, 0, event.prompt - event.cached)
    elif isinstance(event, PrefillProgress):
        talk.progress(READING, event.done, event.total)
    elif isinstance(event, TextDelta):
        talk.clear()
    elif isinstance(event, Notice):
        (talk.aside if event.level == "info" else talk.note)(notice_line(event))
    elif isinstance(event, WorkerDied):
        for line in death_lines(event):
            talk.note(line)
    elif isinstance(event, CheckpointFailed):
        talk.note(f"Nothing was recorded: {event.reason}")


def _exit_code(log: TurnLog) -> int:
    if log.died is not None:
        return EXIT_NATIVE
    # A turn that ended in calls was ended by a limit: there is no answer.
    ends = {
        "cancelled": EXIT_INTERRUPTED,
        "context_full": EXIT_CONTEXT_FULL,
        "error": EXIT_FAILED,
        "tool_calls": EXIT_FAILED,
    }
    return ends.get(log.finish_reason, 0)
