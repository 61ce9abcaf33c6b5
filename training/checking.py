"""What a turn is worth: was the right tool called, with the right arguments, and is the end as asked?

The three are judged apart, so that a right end by another way and a right call with a wrong answer both show.
Invariant: nothing is judged from the model's words about its calls, only from calls that were made, their results,
the answer, and the files as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.agent.tools.arithmetic import compute
from skippy_chat.errors import ToolError
from training.cases import ANY, RESULT, Case, Expected

_MOST_EXTRA = 2  # calls beyond those that are due, before a right end counts as luck
_REFUSAL = re.compile(
    r"\b(can ?not|can't|unable|not able|no tool|none of (?:my|the) tools|don't have|do not have|without a tool"
    r"|beyond what|isn't something I|not possible for me|no way to)\b",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_IGNORED = {"run_command": ("timeout",)}


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of the judged turn; ``arguments`` is None where they could not be read."""

    name: str
    arguments: Mapping[str, Any] | None
    status: str
    result: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judged turn: its calls in order, answers that could not be read as calls, and the last answer."""

    calls: tuple[MadeCall, ...]
    malformed: int
    answer: str
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Verdict:
    """``valid``: every call could be read and fits its schema, and there is one if one is due.

    ``arguments`` implies ``tool``; where no call is due both mean that none was made. ``end``: the answer and the files
    are as asked.
    """

    valid: bool
    tool: bool
    arguments: bool
    end: bool


def judge(case: Case, outcome: Outcome, folder: Path) -> Verdict:
    """Judge a turn; ``folder`` is the workspace as the turn left it."""
    if not case.calls:
        quiet = not outcome.calls and not outcome.malformed
        answered = bool(outcome.answer.strip()) and outcome.finish_reason == "stop"
        # A refusal is due where no tool fits, and out of place everywhere else.
        fits = refuses(outcome.answer) if case.cell == "no_tool_fits" else True
        return Verdict(quiet, quiet, quiet, quiet and answered and fits)
    valid = bool(outcome.calls) and not outcome.malformed
    valid = valid and all(call.arguments is not None for call in outcome.calls)
    names = [each.tool for each in case.calls]
    tool = _in_order(names, [call.name for call in outcome.calls])
    arguments = tool and _calls_fit(case.calls, outcome.calls)
    end = _end(case, outcome, folder) if case.facts or case.files else arguments
    few = len(outcome.calls) <= len(case.calls) + _MOST_EXTRA
    return Verdict(valid, tool, arguments, end and few and bool(outcome.calls))


def refuses(answer: str) -> bool:
    """Return whether an answer says that this cannot be done."""
    return _REFUSAL.search(answer.replace("\u2019", "'")) is not None


def arguments_fit(expected: Expected, call: MadeCall) -> bool:
    """Return whether a call is one of the right ones."""
    return call.name == expected.tool and any(
        _same(expected.tool, wanted, call.arguments) for wanted in expected.alternatives
    )


def _same(tool: str, wanted: Mapping[str, Any], made: Mapping[str, Any] | None) -> bool:
    if made is None:
        return False
    found = {key: value for key, value in made.items() if key not in _IGNORED.get(tool, ())}
    return found.keys() == wanted.keys() and all(
        wanted[key] == ANY or _equal(key, wanted[key], found[key]) for key in wanted
    )


def _equal(key: str, wanted: object, found: object) -> bool:
    if not isinstance(wanted, str) or not isinstance(found, str):
        return wanted == found
    if key == "path":
        return _path(wanted) == _path(found)
    if key == "expression":
        return _value(wanted) == _value(found)
    if key == "pattern":
        return wanted == re.sub(r"\\(?=[^\w\s])|\\b|\(\?i\)", "", found)
    if key == "command":
        return " ".join(wanted.split()) == " ".join(found.split())
    if key == "content":
        return wanted.strip() == found.strip()
    return wanted == found


def _path(text: str) -> str:
    return text.removeprefix("./").rstrip("/") or "."


def _value(expression: str) -> str:
    try:
        return compute(expression)
    except ToolError:
        return f"no value: {expression}"


def _calls_fit(expected: tuple[Expected, ...], made: tuple[MadeCall, ...]) -> bool:
    """Return whether the right calls are among those made, in their order."""
    left = list(expected)
    for call in made:
        if left and arguments_fit(left[0], call):
            left.pop(0)
    return not left


def _in_order(wanted: list[str], found: list[str]) -> bool:
    names = iter(found)
    return all(name in names for name in wanted)


def _end(case: Case, outcome: Outcome, folder: Path) -> bool:
    results = [call.result for call in outcome.calls if call.status == "ok"]
    last = results[-1] if results else ""
    # What a file must hold comes from the calls before the one that wrote it.
    earlier = "\n".join(results[:-1])
    return all(_told(alternatives, outcome.answer, last) for alternatives in case.facts) and all(
        _holds(folder / path, text, earlier) for path, text in case.files
    )


def _told(alternatives: tuple[str, ...], answer: str, result: str) -> bool:
    if RESULT in alternatives:
        return _shares_a_number(answer, result)
    return any(says(fact, answer) for fact in alternatives)


def says(fact: str, answer: str) -> bool:
    """Return whether a fact is in an answer: case is no matter, and a number is not found inside another."""
    text = _THOUSANDS.sub("", answer).lower()
    wanted = _THOUSANDS.sub("", fact).lower()
    before = r"(?<![\d.])" if wanted[0].isdigit() else ""
    # The fraction of a number may go on: 303.6 is in 303.666.
    after = r"(?!\d)" if wanted[-1].isdigit() and "." not in wanted else ""
    return re.search(before + re.escape(wanted) + after, text) is not None


def _holds(path: Path, text: str, earlier: str) -> bool:
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return _shares_a_number(content, earlier) if text == RESULT else text in content


def _shares_a_number(text: str, result: str) -> bool:
    return bool(set(re.findall(r"\d+", result)) & set(re.findall(r"\d+", text)))
