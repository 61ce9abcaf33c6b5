"""The one event stream that worker, library, ``--jsonl`` and every face share.

Order within a turn: ``TurnStarted`` → (``PrefillStarted`` → ``PrefillProgress``* →
``TextDelta | ReasoningDelta | ToolCallDelta``* → ``StepFinished`` →
(``ApprovalNeeded`` → ``ToolStarted`` → ``ToolOutput``* → ``ToolFinished``)*)* → ``TurnFinished``.
At any time: ``CheckpointRecorded``, ``CheckpointFailed``, ``Notice``, ``WorkerDied``.

Invariant: ``cached + prefilled == prompt`` in every usage, and ``prefilled`` is counted natively.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

SCHEMA = 1

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "cancelled", "context_full", "error"]
CacheSource: TypeAlias = Literal["live", "disk", "none"]
ToolStatus: TypeAlias = Literal["ok", "denied", "error"]
MissKind: TypeAlias = Literal[
    "nothing_stored",
    "diverged",
    "evicted",
    "not_stored",
    "damaged",
    "other_model",
    "template_rewrote",
    "not_proven",
    "off",
]


_IN_WORDS: Mapping[MissKind, str] = {
    "nothing_stored": "nothing stored",
    "diverged": "diverged",
    "evicted": "evicted",
    "not_stored": "not stored",
    "damaged": "damaged",
    "other_model": "another model read it",
    "template_rewrote": "the template rewrote an earlier message",
    "not_proven": "not proven for this model",
    "off": "the cache is off",
}


@dataclass(frozen=True, slots=True)
class MissReason:
    """Why part of a prompt was not cached; ``position`` is a token position, ``message`` a message index.

    ``evicted`` went for its bytes; ``not_stored`` was fed once, and then not recorded, or removed in another way. In
    words the index is left out: it counts what the person does not see as messages.
    """

    kind: MissKind
    position: int | None = None
    message: int | None = None
    detail: str = ""

    def __str__(self) -> str:
        text = _IN_WORDS[self.kind]
        if self.position is not None:
            text += f" at token {self.position:,}"
        return f"{text}: {self.detail}" if self.detail else text


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a step, or their sum over a turn; ``context_tokens`` is what the lane holds now."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    prefilled_tokens: int = 0
    generated_tokens: int = 0
    context_tokens: int = 0

    def plus(self, later: Usage) -> Usage:
        """Add a later step's counts; ``context_tokens`` is the later one's."""
        return Usage(
            self.prompt_tokens + later.prompt_tokens,
            self.cached_tokens + later.cached_tokens,
            self.prefilled_tokens + later.prefilled_tokens,
            self.generated_tokens + later.generated_tokens,
            later.context_tokens,
        )


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What a step resumed from."""

    source: CacheSource = "none"
    restored_position: int = 0
    miss_reason: MissReason | None = None
    diverged_at: int | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Wall-clock milliseconds of a step's parts, and decode speed in tokens per second."""

    restore_ms: float = 0.0
    prefill_ms: float = 0.0
    first_token_ms: float = 0.0
    decode_ms: float = 0.0
    tokens_per_second: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events; ``at_ms`` is milliseconds since the epoch, ``seq`` counts within the stream."""

    type: ClassVar[str] = "event"
    seq: int = 0
    session: str = ""
    turn: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A turn begins; ``message`` is the id of the user message it answers."""

    type: ClassVar[str] = "turn_started"
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillStarted(Event):
    """Lookup is done: ``cached`` of ``prompt`` tokens need no reading."""

    type: ClassVar[str] = "prefill_started"
    prompt: int = 0
    cached: int = 0
    source: CacheSource = "none"
    miss_reason: MissReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillProgress(Event):
    """``done`` of ``total`` tokens that had to be read have been read."""

    type: ClassVar[str] = "prefill_progress"
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """Answer text, raw: faces sanitise it at the display boundary."""

    type: ClassVar[str] = "text_delta"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta(Event):
    """Reasoning text, raw."""

    type: ClassVar[str] = "reasoning_delta"
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta(Event):
    """Part of a tool call as it is generated: ``call`` its id, the name whole and first, the arguments in pieces."""

    type: ClassVar[str] = "tool_call_delta"
    call: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(Event):
    """One model step ended."""

    type: ClassVar[str] = "step_finished"
    usage: Usage = field(default_factory=Usage)
    cache: CacheUse = field(default_factory=CacheUse)
    timings: Timings = field(default_factory=Timings)
    finish_reason: FinishReason = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded(Event):
    """A tool call waits for a decision: the turn goes on when ``Conversation.decide`` or ``cancel`` was called.

    ``text`` and ``diff`` are complete and safe to show, with what cannot be seen written out; ``why`` says why it is
    asked. ``scopes`` are the answers that may be given (once, session, always), ``rules`` what the longer ones would
    remember, a line each. ``arguments`` is the model's raw text.
    """

    type: ClassVar[str] = "approval_needed"
    call: str = ""
    name: str = ""
    arguments: str = ""
    text: str = ""
    diff: str = ""
    why: str = ""
    scopes: tuple[str, ...] = ("once",)
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    """A tool began to run; ``arguments`` is the model's raw text."""

    type: ClassVar[str] = "tool_started"
    call: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(Event):
    """Live output of a running tool, raw."""

    type: ClassVar[str] = "tool_output"
    call: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(Event):
    """A call came to its end: it ran, was denied, or was not run because something is wrong with it.

    ``result`` is what the model sees, raw; ``detail`` is for people (a diff); ``spilled`` is a file that holds all of
    the output, where it was too much. ``message`` is the id of the stored result.
    """

    type: ClassVar[str] = "tool_finished"
    call: str = ""
    name: str = ""
    status: ToolStatus = "ok"
    result: str = ""
    detail: str = ""
    spilled: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(Event):
    """A turn ended; ``message`` is the id of the last stored message, ``usage`` the sum of its steps.

    ``finish_reason`` is the last step's, but for a turn that ended between two steps: ``cancelled`` when it was stopped
    while a call waited or ran, ``tool_calls`` when a limit ended it and it can go on.
    """

    type: ClassVar[str] = "turn_finished"
    usage: Usage = field(default_factory=Usage)
    message: str = ""
    finish_reason: FinishReason = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRecorded(Event):
    """New checkpoints are durable: ``position`` of the deepest, ``bytes`` written to disk."""

    type: ClassVar[str] = "checkpoint_recorded"
    position: int = 0
    nodes: int = 0
    states: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFailed(Event):
    """A checkpoint could not be recorded or used; the turn goes on."""

    type: ClassVar[str] = "checkpoint_failed"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Event):
    """Something a person should know."""

    type: ClassVar[str] = "notice"
    level: Literal["info", "warning", "error"] = "info"
    text: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDied(Event):
    """The worker process ended unexpectedly."""

    type: ClassVar[str] = "worker_died"
    reason: str = ""
    log_tail: tuple[str, ...] = ()


EVENT_TYPES: dict[str, type[Event]] = {
    cls.type: cls
    for cls in (
        TurnStarted,
        PrefillStarted,
        PrefillProgress,
        TextDelta,
        ReasoningDelta,
        ToolCallDelta,
        StepFinished,
        ApprovalNeeded,
        ToolStarted,
        ToolOutput,
        ToolFinished,
        TurnFinished,
        CheckpointRecorded,
        CheckpointFailed,
        Notice,
        WorkerDied,
    )
}

_NESTED: dict[str, type[Any]] = {
    "usage": Usage,
    "timings": Timings,
    "cache": CacheUse,
    "miss_reason": MissReason,
}


def stamp(event: Event, **values: Any) -> Event:
    """Return ``event`` with ``seq``, ``session``, ``turn`` or ``at_ms`` set."""
    return dataclasses.replace(event, **values)


def to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON types, its ``type`` and the ``schema`` first."""
    return {"schema": SCHEMA, "type": event.type, **dataclasses.asdict(event)}


def to_json(event: Event) -> str:
    """Return an event as one line of JSON."""
    return json.dumps(to_dict(event), ensure_ascii=False)


def from_dict(data: dict[str, Any]) -> Event:
    """Build the event that ``to_dict`` described.

    Raises:
        ValueError: unknown type, or a field that type does not have.
    """
    cls = EVENT_TYPES.get(data.get("type", ""))
    if cls is None or data.get("schema") != SCHEMA:
        raise ValueError(f"not an event of schema {SCHEMA}: {data.get('type')!r}")
    return cast_event(cls, {k: v for k, v in data.items() if k not in ("schema", "type")})


def cast_event(cls: type[Event], values: dict[str, Any]) -> Event:
    """Build ``cls`` from plain values, nested values included."""
    try:
        return cls(**{name: _revive(name, value) for name, value in values.items()})
    except TypeError as error:
        raise ValueError(f"{cls.type}: {error}") from error


def _revive(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    nested = _NESTED.get(name)
    if nested is None or not isinstance(value, dict):
        return value
    return nested(**{key: _revive(key, inner) for key, inner in value.items()})
