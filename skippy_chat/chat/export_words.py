"""The words and the cleaning that Markdown and HTML exports share.

Invariant: text that leaves through here holds no control character but newline and tab.
"""

from __future__ import annotations

import datetime as dt
import json

from skippy_chat.chat.messages import Message
from skippy_chat.chat.trees import Section, SessionTree
from skippy_chat.text.sanitise import sanitise

_ROLES = {"system": "System", "user": "You", "assistant": "Assistant", "tool": "Tool"}
_STATES = {"complete": "", "interrupted": "interrupted", "failed": "not answered"}
_EDITED = "edited by a person"
_STATUS = {"ok": "✓", "denied": "⊘ denied:", "error": "✗ failed:"}
_LONGEST_NAME = 80


def clean(text: str) -> str:
    """Return foreign text without escape sequences and control characters, its line ends as newlines."""
    return sanitise(text.replace("\r\n", "\n").replace("\r", "\n"))


def one_clean_line(text: str, most: int = _LONGEST_NAME) -> str:
    """Return foreign text as one clean line of at most ``most`` characters."""
    line = " ".join(clean(text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def moment(milliseconds: int) -> str:
    """Return a moment (milliseconds since the epoch) in UTC, to the minute; nothing where it is none."""
    try:
        at = dt.datetime.fromtimestamp(milliseconds / 1000, dt.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def role_of(message: Message) -> str:
    """Return who speaks, whether that was cut off, and whether a person gave it other words."""
    marks = ", ".join(mark for mark in (_STATES[message.state], _EDITED if message.edited else "") if mark)
    return f"{_ROLES[message.role]} ({marks})" if marks else _ROLES[message.role]


def result_of(message: Message, name: str) -> str:
    """Return how a tool's call ended, as one clean line."""
    shown = one_clean_line(name) or "result"
    return shown if message.status is None else f"{_STATUS[message.status]} {shown}"


def arguments_of(arguments: str) -> str:
    """Return a call's arguments as a person reads them: indented, if they are JSON; else as they are."""
    try:
        value = json.loads(arguments)
        if isinstance(value, dict):
            return clean(json.dumps(value, ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        pass
    return clean(arguments)


def names_of_calls(tree: SessionTree) -> dict[str, str]:
    """Return for each message that is a tool's result the name of the tool, where the call stands above it."""
    called = {each.id: {call.id: call.name for call in each.tool_calls} for each in tree.messages}
    above = tree.callers()
    return {
        each.id: called.get(above[each.id] or "", {}).get(each.tool_call_id or "", "")
        for each in tree.messages
        if each.role == "tool"
    }


def about_session(tree: SessionTree) -> list[str]:
    """Return what stands below the title: model, size and days, each a clean line."""
    count = len(tree.messages)
    # Of a path the file's name: where somebody keeps models is nobody's business.
    model = one_clean_line(tree.session.model.replace("\\", "/").rpartition("/")[2])
    parts = [f"Model: {model}" if model else "", f"{count:,} message{'s' * (count != 1)}"]
    if tree.messages:
        days = sorted(each.created for each in tree.messages)
        first, last = moment(days[0]), moment(days[-1])
        parts.append(first if first == last else f"{first} to {last}")
    return [each for each in parts if each]


def about_section(place: int, section: Section) -> str:
    """Return the heading of a branch."""
    if place == 1:
        return "Branch 1, the current one"
    where = "from the beginning" if section.after is None else f"after message {section.after}"
    return f"Branch {place}, {where}"
