"""Stored messages as text, for /history, /branch, /session and the greeting of a read-only session.

Invariant: nothing of a person's or a model's words is left out but where a line says so; faces clean what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.chat.messages import Message, Session
from skippy_chat.errors import UsageError
from skippy_chat.repl.calls import one_line
from skippy_chat.text.sanitise import sanitise
from skippy_chat.tool_wording import call_line, status_mark
from skippy_chat.wording import plural

_PREVIEW = 40
_RESULT_LINES = 12
ROLES = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}


def history_text(messages: Sequence[Message], begin: int = 1, end: int | None = None) -> str:
    """Return a branch, the person's messages and the tools' results numbered, with what has no ordinary end marked.

    From the person's message ``begin`` on, and before their message ``end``; what stands before the first is in it.
    """
    lines = []
    numbers = {"user": 0, "tool": 0}
    for message in messages:
        place = ""
        if message.role in numbers:
            numbers[message.role] += 1
            place = f" {numbers[message.role]}"
        if max(1, numbers["user"]) < begin or (end is not None and numbers["user"] >= end):
            continue
        lines.append(f"{ROLES[message.role]}{place}{_mark(message)}: {_body(message)}")
    return "\n\n".join(lines)


def result_text(messages: Sequence[Message], argument: str) -> str:
    """Return all of a tool's result in a branch, by its number or the last.

    Raises:
        UsageError: there is no such result.
    """
    results = [message for message in messages if message.role == "tool"]
    if not results:
        raise UsageError("No tool has given a result yet.", "/history shows what there is.")
    result = results[number_of(argument, len(results), "result", default=len(results)) - 1]
    return "\n".join(part for part in (result.content, result.detail) if part) or "It gave nothing."


def number_of(argument: str, count: int, noun: str, *, default: int) -> int:
    """Return the number that was given to a command, from 1 to ``count``.

    Raises:
        UsageError: it is no such number.
    """
    if not argument:
        return default
    if argument.isascii() and argument.isdigit() and 1 <= int(argument[:9]) <= count:
        return int(argument[:9])
    raise UsageError(f"There is no {noun} {argument}.", f"Give a number from 1 to {count}.")


def sentence(text: str) -> str:
    """Return a short line as a sentence, for faces that speak in them."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def session_text(session: Session, messages: int) -> str:
    """Return a session's facts, a line each."""
    lines = [
        f"Session: {session.label}",
        f"Id: {session.id}",
        f"Folder: {session.folder}",
        f"This branch: {plural(messages, 'message')}",
    ]
    return "\n".join(lines)


def tail_text(messages: Sequence[Message]) -> str:
    """Return the last question, and what was said and done since."""
    asked = [index for index, message in enumerate(messages) if message.role == "user"]
    last = messages[asked[-1] :] if asked else messages[-2:]
    return "\n".join(f"{ROLES[message.role]}{_edited(message)}: {_body(message)}" for message in last)


def branch_row(number: int, branch: Sequence[Message], current: set[str], *, sentences: bool) -> str:
    """Return a branch's row in a list, a sentence where the face speaks in them."""
    here = branch[-1].id in current
    if sentences:
        line = branch_line(branch, current, then=", then ")
        return f"Branch {number}{', this one' if here else ''}: {line}"
    return f"{'*' if here else ' '} {number}  {branch_line(branch, current)}"


def branch_line(branch: Sequence[Message], current: set[str], then: str = " → ") -> str:
    """Return a branch on one line: the question at which it leaves the current one, or else its last; and its end."""
    leaf = branch[-1]
    asked = [message for message in branch if message.role == "user"]
    own = [message for message in asked if message.id not in current]
    question = own[0] if own else asked[-1] if asked else leaf
    shown = [question] if question is leaf else [question, leaf]
    return then.join(f"{ROLES[message.role]}: {_preview(message)}" for message in shown)


def _mark(message: Message) -> str:
    """Return what is out of the ordinary about a message."""
    return ("" if message.state == "complete" else f" [{message.state}]") + _edited(message)


def _edited(message: Message) -> str:
    return " [edited]" if message.edited else ""


def _body(message: Message) -> str:
    """Return a message's text, and under it the calls it makes; of a tool's result the first lines."""
    if message.role != "tool":
        return "\n".join(part for part in (message.content, _calls(message)) if part)
    mark = status_mark(message.status)
    lines = message.content.split("\n")
    if len(lines) <= _RESULT_LINES:
        return f"{mark} {message.content}"
    rest = f"… {plural(len(lines) - _RESULT_LINES, 'line')} more: /result N shows all …"
    return "\n".join([f"{mark} {lines[0]}", *lines[1:_RESULT_LINES], rest])


def _calls(message: Message) -> str:
    return "\n".join(f"→ {one_line(call_line(each.name, each.arguments))}" for each in message.tool_calls)


def _preview(message: Message) -> str:
    text = " ".join(sanitise((message.content or _calls(message))[: 4 * _PREVIEW]).split())
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1]}…"
