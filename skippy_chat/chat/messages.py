"""What a conversation is made of, as values: messages, tool calls, sessions.

Invariant: text is kept as it came, and what goes to a template is always valid, whatever a model once wrote.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeAlias

from skippy_chat.events import ToolStatus

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
State: TypeAlias = Literal["complete", "interrupted", "failed"]

_DEEPEST = 200
_LARGEST = int(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; ``arguments`` is its raw text, which need not be valid JSON."""

    id: str
    name: str
    arguments: str

    def valid_arguments(self) -> str:
        """Return JSON text of an object: the arguments, or the text that was none under ``invalid_json``.

        A template that parses arguments would fail on every later turn otherwise. What Python takes for JSON and others
        do not (numbers without end, halves of surrogate pairs, very deep nesting) counts as none.
        """
        try:
            value = json.loads(self.arguments, parse_constant=_no_constant)
            if isinstance(value, dict) and _is_portable(value):
                return self.arguments
        except (ValueError, RecursionError):
            pass
        return json.dumps({"invalid_json": self.arguments}, ensure_ascii=False)

    def to_openai(self) -> dict[str, Any]:
        """Return the call as templates expect it."""
        function = {"name": self.name, "arguments": self.valid_arguments()}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Message:
    """A node of the conversation tree; ``created`` is milliseconds since the epoch.

    Of a tool's result ``status`` says how the call ended, and ``detail`` is what people see of it (a diff). ``turn`` is
    the id of the turn that a model's answer or a result belongs to; files that it wrote are undone by it. An answer or
    a result that is ``edited`` has the text that a person gave it; what the model or the tool gave is a sibling.
    """

    id: str
    session: str
    parent: str | None
    role: Role
    content: str
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    state: State = "complete"
    finish_reason: str | None = None
    created: int = 0
    status: ToolStatus | None = None
    detail: str = ""
    turn: str = ""
    edited: bool = False

    def to_openai(self) -> dict[str, Any]:
        """Return the message as a chat template expects it."""
        data: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.reasoning is not None:
            data["reasoning_content"] = self.reasoning
        if self.tool_calls:
            data["tool_calls"] = [call.to_openai() for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        return data

    def raw_json(self) -> str:
        """Return what the database keeps beside its own columns, as JSON; unset parts are left out."""
        data: dict[str, Any] = {"content": self.content}
        if self.reasoning is not None:
            data["reasoning"] = self.reasoning
        if self.tool_calls:
            data["tool_calls"] = [[call.id, call.name, call.arguments] for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        if self.finish_reason is not None:
            data["finish_reason"] = self.finish_reason
        if self.status is not None:
            data["status"] = self.status
        if self.detail:
            data["detail"] = self.detail
        if self.turn:
            data["turn"] = self.turn
        if self.edited:
            data["edited"] = True
        return json.dumps(data, ensure_ascii=False)

    @classmethod
    def from_raw(
        cls,
        raw: str,
        *,
        message_id: str,
        session: str,
        parent: str | None,
        role: Role,
        state: State,
        created: int,
    ) -> Message:
        """Build a message from ``raw_json`` text and the columns; parts it does not know are ignored.

        Raises:
            ValueError: the text is not what ``raw_json`` writes.
        """
        data = json.loads(raw)
        try:
            if not isinstance(data["content"], str):
                raise TypeError("content is no text")
            calls = tuple(ToolCall(*map(str, call)) for call in data.get("tool_calls", ()))
            return cls(
                message_id,
                session,
                parent,
                role,
                data["content"],
                data.get("reasoning"),
                calls,
                data.get("tool_call_id"),
                state,
                data.get("finish_reason"),
                created,
                data.get("status"),
                data.get("detail", ""),
                data.get("turn", ""),
                bool(data.get("edited", False)),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"message {message_id}: {error!r}") from error


# Among a session's settings, so that no name is taken by it, and none is mistaken for one that a person gave.
MADE_TITLE = "made_title"


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with all its branches; ``title`` is the name given to it, empty when there is none.

    ``deleted`` is when it was deleted, in milliseconds since the epoch; until it is removed it can be restored.
    """

    id: str
    title: str
    folder: str
    created: int
    updated: int
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    deleted: int | None = None

    @property
    def name(self) -> str:
        """The title, or the id of a session without one: what finds it again."""
        return self.title or self.id

    @property
    def label(self) -> str:
        """What to show for it: the title, or the one that the program made, or the id; it need not find it again."""
        return self.title or self.made_title or self.id

    @property
    def made_title(self) -> str:
        """The title that the program made; empty when there is none."""
        made = self.settings.get(MADE_TITLE)
        return made if isinstance(made, str) else ""


def _is_portable(value: Any) -> bool:
    """Tell whether every JSON reader understands a decoded value."""
    found: list[tuple[Any, int]] = [(value, 0)]
    while found:
        each, depth = found.pop()
        if depth > _DEEPEST:
            return False
        if isinstance(each, str):
            each.encode()  # raises UnicodeEncodeError, a ValueError
        elif isinstance(each, float):
            if not math.isfinite(each):
                return False
        elif isinstance(each, int):
            if abs(each) > _LARGEST:
                return False
        elif isinstance(each, dict):
            found += ((part, depth + 1) for pair in each.items() for part in pair)
        elif isinstance(each, list):
            found += ((part, depth + 1) for part in each)
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
