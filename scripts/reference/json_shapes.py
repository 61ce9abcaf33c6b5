"""Events, the object of ``run --json``, and errors, as Markdown: names, types and meanings as the code has them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_type_hints

from skippy_chat import errors, events
from skippy_chat.agent.protocol import LoadedModel, ReplayReport
from skippy_chat.turn_log import TurnLog

_NESTED = {
    events.Usage: "usage",
    events.CacheUse: "cache",
    events.MissReason: "miss_reason",
    events.Timings: "timings",
}
# The object of a turn: what a field means that is not one of an event.
TURN_FIELDS: Mapping[str, str] = {
    "schema": "The version of this shape.",
    "session": "The session's id, for `--session`.",
    "message": "The id of the stored answer; null when none was stored.",
    "content": "The text of the last step: the answer.",
    "reasoning": "The last step's reasoning; null without.",
    "finish_reason": "Why the turn ended.",
    "steps": "One object for each time the model was asked.",
    "usage": "The sum over the steps, without `context_tokens`.",
    "model": "`name`, `sha256`, `kind` (dense, swa, hybrid, recurrent) and `architecture`.",
}
STEP_FIELDS: Mapping[str, str] = {
    **{each.name: "As in `usage` of `step_finished`." for each in dataclasses.fields(events.Usage)},
    "cache": "As in `step_finished`.",
    "timings": "As in `step_finished`.",
    "tool_calls": (
        "Each call with `id`, `name`, `arguments` (the object, or the text where it is no JSON), `status` (ok, denied, "
        "error) and `result`, which is what the model saw."
    ),
    "finish_reason": "Why the step ended.",
}


def event_tables() -> str:
    """Return a section for each kind of event: its docstring, and its fields with their types."""
    parts = [
        _section("What all events have", events.Event, skip=()),
        "`schema` and `type` come first in each.",
    ]
    base = {each.name for each in dataclasses.fields(events.Event)}
    for name, kind in events.EVENT_TYPES.items():
        parts.append(_section(f"`{name}`", kind, skip=base))
    return "\n\n".join(parts)


def nested_tables() -> str:
    """Return the same for the objects that stand in events."""
    return "\n\n".join(_section(f"`{name}`", kind, skip=()) for kind, name in _NESTED.items())


def turn_tables() -> str:
    """Return the fields of ``run --json``'s object, and of a step in it."""
    told = [
        "| field | what it is |",
        "|---|---|",
        *(f"| `{name}` | {text} |" for name, text in TURN_FIELDS.items()),
    ]
    steps = ["| field of a step | what it is |", "|---|---|"]
    steps += [f"| `{name}` | {text} |" for name, text in STEP_FIELDS.items()]
    return "\n".join([*told, "", *steps])


def turn_example() -> str:
    """Return an object as the program makes it, of a turn with one call."""
    return "```json\n" + json.dumps(sample_turn(), indent=2) + "\n```"


def sample_turn() -> dict[str, Any]:
    """Return the object of a turn with one call, made by the program's own code from a turn's events."""
    log = TurnLog()
    miss = events.MissReason("diverged", 1087, 6)
    for event in (
        events.ToolCallDelta(call="c1", name="read_file", arguments='{"path": "notes.txt"}'),
        events.StepFinished(
            usage=events.Usage(1103, 1087, 16, 21, 1124),
            cache=events.CacheUse("disk", 1087, miss, 1087),
            timings=events.Timings(9.1, 120.4, 131.2, 390.0, 53.8),
            finish_reason="tool_calls",
        ),
        events.ToolStarted(call="c1", name="read_file", arguments='{"path": "notes.txt"}'),
        events.ToolFinished(call="c1", name="read_file", status="ok", result="The harbour opens at six."),
        events.TextDelta(text="It opens at six."),
        events.StepFinished(
            usage=events.Usage(1141, 1124, 17, 6, 1147),
            cache=events.CacheUse("live", 1124),
            timings=events.Timings(0.0, 131.0, 140.2, 110.5, 54.3),
        ),
        events.TurnFinished(
            usage=events.Usage(2244, 2211, 33, 27, 1147), message="01M8MSNP5PEDNKMCN4TCWBT2KX"
        ),
    ):
        log.add(event)
    model = LoadedModel("SmolLM2-135M-Instruct-hybrid", "4f1c…", "hybrid", "falcon-h1", 8192)
    return log.as_json("01M8MSNKSK9FC7Y3H1CHJ5ABGN", model)


def replay_table() -> str:
    """Return the fields of a replay's report."""
    return _section("`replay`", ReplayReport, skip=())


def error_table() -> str:
    """Return each code word with its exit code and meaning."""
    lines = ["| `code` | exit | what went wrong |", "|---|---|---|"]
    own = (kind for kind in error_kinds() if "code" in vars(kind))
    lines += [f"| `{kind.code}` | {kind.exit_code} | {first_sentence(kind)} |" for kind in own]
    lines.append("| `interrupted` | 130 | Ctrl-C, before the turn had an end of its own. |")
    lines.append("| `internal` | 1 | A fault in the program. |")
    return "\n".join(lines)


def error_kinds() -> list[type[errors.SkippyError]]:
    """Return every class of errors, the base first."""
    return list(_kinds(errors.SkippyError))


def _kinds(kind: type[errors.SkippyError]) -> Iterator[type[errors.SkippyError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _kinds(below)


def first_sentence(kind: type) -> str:
    """Return what a class's docstring begins with."""
    return _unquoted(inspect.cleandoc(kind.__doc__ or "").partition("\n")[0])


def _section(title: str, kind: type[Any], *, skip: object) -> str:
    hints = get_type_hints(kind)
    about = _unquoted(" ".join(inspect.cleandoc(kind.__doc__ or "").split()))
    lines = [f"### {title}", "", about]
    fields = [each for each in dataclasses.fields(kind) if each.name not in skip]  # type: ignore[operator]
    if fields:
        lines += ["", "| field | type |", "|---|---|"]
        lines += [f"| `{each.name}` | {_type(hints[each.name])} |" for each in fields]
    return "\n".join(lines)


def _type(hint: Any) -> str:
    words = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}
    if hint in words:
        return words[hint]
    if hint in _NESTED:
        return f"`{_NESTED[hint]}`"
    inner = get_args(hint)
    if getattr(hint, "__origin__", None) is tuple:
        return f"list of {_type(inner[0])}"
    if inner and all(isinstance(each, str) for each in inner):
        return ", ".join(f"`{each}`" for each in inner)
    return " or ".join(_type(each) for each in inner)


def _unquoted(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text)
