"""A tool for the gate's conversations, and what is asked of the calls that models make of it."""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.agent.tools.arguments import BadArguments, check_arguments, read_arguments
from skippy_chat.engine.protocol import AnsweredCall, StepReply
from skippy_chat.gate.stage import Turn
from skippy_chat.gate.talk import Tool
from skippy_chat.gate.values import About, Sheet

ENTRIES = ("harbour", "lighthouse")
LOOK_UP: Tool = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look up an entry of the town's handbook.",
        "parameters": {
            "type": "object",
            "properties": {"entry": {"type": "string", "enum": list(ENTRIES)}},
            "required": ["entry"],
            "additionalProperties": False,
        },
    },
}


def check_calls(
    sheet: Sheet, what: str, turn: Turn, tools: Sequence[Tool], *, forced: bool, known: Sequence[str] = ()
) -> None:
    """Check that every call has an id of its own, the name of a tool, and arguments that fit it.

    ``forced``: there must be a call, and the grammar answers for it; else calls are the model's affair. ``known`` are
    the ids of earlier calls.
    """
    reply = turn.reply
    about: About = "cache" if forced else "model"
    if forced and thinks_on(reply):
        # The grammar forces the call, not that a model stops thinking before it.
        about = "model"
    faults = [fault for call in reply.calls if (fault := _fault(call, tools, known))]
    if reply.malformed:
        faults.append(reply.malformed)
    if forced and not reply.calls:
        faults.append(f"no call ({reply.finish_reason}): {reply.text[:60]!r}")
    if forced and reply.calls and reply.finish_reason != "tool_calls":
        faults.append(f"ended with {reply.finish_reason}")
    if len({call.id for call in reply.calls}) != len(reply.calls):
        faults.append("two calls of one id")
    sheet.holds(
        f"{what}: calls",
        not faults,
        expected="an id, the tool's name, arguments that fit its schema",
        found="; ".join(faults) or shown(reply.calls),
        about=about,
    )


def thinks_on(reply: StepReply) -> bool:
    """Whether an answer was cut off in its thoughts, before a call."""
    return reply.finish_reason == "length" and bool(reply.reasoning) and not reply.calls


def shown(calls: Sequence[AnsweredCall]) -> str:
    """Return calls as one line."""
    return ", ".join(f"{call.name}({call.arguments})" for call in calls) or "no call"


def _fault(call: AnsweredCall, tools: Sequence[Tool], known: Sequence[str]) -> str:
    if not call.id:
        return f"a call of {call.name} without an id"
    if call.id in known:
        return f"the id {call.id} a second time"
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    if call.name not in schemas:
        return f"a call of {call.name!r}"
    try:
        check_arguments(read_arguments(call.arguments), schemas[call.name])
    except BadArguments as error:
        return f"{call.name}: {error}"
    return ""
