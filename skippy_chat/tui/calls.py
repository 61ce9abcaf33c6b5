"""Which message shows which call: a result shows the call it answers, an answer those that nothing answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.tui.display import visible, visible_line

_LONGEST = 300


def paired(messages: Sequence[Message]) -> Mapping[str, tuple[ToolCall, ...]]:
    """Return the calls that each message of a branch shows, by its id.

    The ids of calls may repeat from answer to answer.
    """
    found: dict[str, tuple[ToolCall, ...]] = {}
    asked = ""
    open_calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "tool":
            call = open_calls.pop(message.tool_call_id or "", None)
            if call is not None:
                found[message.id] = (call,)
                found[asked] = tuple(open_calls.values())
        elif message.tool_calls:
            asked = message.id
            open_calls = {call.id: call for call in message.tool_calls}
            found[asked] = message.tool_calls
    return {message: calls for message, calls in found.items() if calls}


def brief(arguments: str) -> str:
    """Return raw arguments on one line, safe to show: a single value as it is, several with their names."""
    values = _values(arguments)
    if values is None:
        return visible_line(arguments, _LONGEST)
    if len(values) == 1:
        return visible_line(_text(next(iter(values.values()))), _LONGEST)
    return visible_line(" ".join(f"{name}={_told(value)}" for name, value in values.items()), _LONGEST)


def in_full(arguments: str) -> list[tuple[str, str]]:
    """Return raw arguments as names and values, complete and safe to show; text that is no object has no name."""
    values = _values(arguments)
    if values is None:
        return [("", visible(arguments))] if arguments else []
    return [(visible_line(name, _LONGEST), visible(_text(value))) for name, value in values.items()]


def _values(arguments: str) -> Mapping[str, object] | None:
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _told(value: object) -> str:
    text = _text(value)
    return (
        visible_line(text, 80)
        if text and " " not in text
        else json.dumps(visible_line(text, 80), ensure_ascii=False)
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
