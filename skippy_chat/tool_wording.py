"""The words that every face uses for calls of tools, what they gave, and the question whether they may run.

Invariant: pure functions of events and stored messages. What models and tools said comes out raw but on one line:
faces clean it at the display boundary.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from skippy_chat.agent.asking import Answer
from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.events import ToolFinished, ToolStatus
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural, seconds

_VALUE = 60
_REASON = 160
_MARKS: dict[ToolStatus, str] = {"ok": "✓", "denied": "⊘", "error": "✗"}
_ENDS: dict[ToolStatus, str] = {"ok": "ok", "denied": "denied", "error": "failed"}
_APPROVAL = {"allow": "runs at once", "ask": "asks first", "deny": "is denied"}
_SCOPES = {"once": "[y]es, once", "session": "[s] for this session", "always": "[a]lways"}


def call_line(name: str, arguments: str, limit: int = 200) -> str:
    """Return a call on one line of at most ``limit`` characters, long values cut; ``arguments`` is the raw text."""
    return cut(f"{name}({_short(arguments)})", limit)


def result_line(finished: ToolFinished, milliseconds: float = 0.0) -> str:
    """Return how a call ended, on one line; ``milliseconds`` it ran, 0 where that is not known."""
    parts = [f"{_MARKS[finished.status]} {finished.name or 'call'}"]
    if finished.status == "ok":
        parts.append(_gist(finished.result))
    else:
        parts.append(f"{_ENDS[finished.status]}: {reason_of(finished.result)}")
    if milliseconds > 0:
        parts.append(seconds(milliseconds))
    if finished.spilled:
        parts.append(f"all of it: {finished.spilled}")
    return " · ".join(parts)


def result_sentence(finished: ToolFinished, milliseconds: float = 0.0) -> str:
    """Return the result line as full sentences, for screen readers and dumb terminals."""
    text = f"{finished.name or 'The call'} {_ENDS[finished.status]}"
    if finished.status == "ok":
        text = f"{finished.name or 'The call'} gave {_gist(finished.result)}"
    if milliseconds > 0:
        text += f", after {seconds(milliseconds)}"
    text += "." if finished.status == "ok" else f": {reason_of(finished.result)}"
    return f"{text} All of it is in {finished.spilled}" if finished.spilled else text


def reason_of(result: str) -> str:
    """Return the first line of a result that has words, cut: why a call failed or was denied."""
    return cut(next((line for line in result.splitlines() if line.strip()), "it gave nothing"), _REASON)


def status_mark(status: ToolStatus | None) -> str:
    """Return a call's end as one sign: ✓ ran, ⊘ denied, ✗ failed; … where it has none yet."""
    return "…" if status is None else _MARKS[status]


def choices(scopes: Sequence[str]) -> str:
    """Return the answers that may be typed to a question with these scopes."""
    offered = [_SCOPES[each] for each in _SCOPES if each in scopes]
    return f"{', '.join(offered)}, or [n]o, and a reason if you like"


def read_answer(typed: str, scopes: Sequence[str]) -> Answer | None:
    """Read an answer that was typed; None when it is none of those offered, so that nothing is allowed by mistake."""
    word, _, rest = typed.strip().partition(" ")
    word, rest = word.rstrip(",.:;").lower(), rest.strip()
    if word in {"n", "no"}:
        return Answer(allowed=False, reason=rest)
    meant = {"y": "once", "yes": "once", "s": "session", "a": "always"}.get(word, word)
    return Answer(allowed=True, scope=meant) if meant in scopes and not rest else None


def remembered_line(rules: Sequence[str]) -> str:
    """Return what a longer answer than once would let pass from then on."""
    return f"A longer answer would let pass: {'; '.join(rules)}"


def undone_text(undone: Undone) -> str:
    """Return what an undo did, a line for each file."""
    lines = [f"Put back: {each}" for each in undone.restored] + [
        f"Removed: {each}" for each in undone.removed
    ]
    return "\n".join(lines) or "There was nothing to put back."


def tools_text(tools: Sequence[ToolInfo]) -> str:
    """Return the tools that a model is offered, a line each, with what becomes of their calls."""
    if not tools:
        return "The model is offered no tools. Leave, and come back with --continue --tools default for some."
    name = max(len(each.name) for each in tools)
    fate = max(len(_APPROVAL[each.approval]) for each in tools)
    return "\n".join(
        f"{each.name:<{name}}  {_APPROVAL[each.approval]:<{fate}}  {cut(each.description, 80)}"
        for each in tools
    )


def cut(text: str, limit: int) -> str:
    """Return a text on one line of at most ``limit`` characters."""
    text = " ".join(text[: 4 * limit].split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _short(arguments: str) -> str:
    try:
        values = json.loads(arguments)
        if not isinstance(values, dict):
            return arguments
        shown = [(name, json.dumps(value, ensure_ascii=False)) for name, value in values.items()]
    except (ValueError, RecursionError):
        return arguments
    return ", ".join(f"{name}={cut(value, _VALUE)}" for name, value in shown)


def _gist(result: str) -> str:
    """Return a short result itself, or else how much it is."""
    if not result.strip():
        return "nothing"
    lines = result.count("\n") + (not result.endswith("\n"))
    if lines == 1 and len(result) <= _VALUE:
        return result.strip()
    return f"{plural(lines, 'line')}, {format_size(len(result.encode('utf-8', 'replace')))}"
