"""Making the question that a person is asked: complete, and safe to show."""

from __future__ import annotations

import json
from collections.abc import Sequence

from skippy_chat.agent.approvals.showing import show
from skippy_chat.agent.approvals.subjects import Reach, Subject
from skippy_chat.agent.approvals.values import Approval, Rule, Scope
from skippy_chat.agent.tools.protocol import Call, Previewing, ToolContext


def question(call: Call, context: ToolContext, found: Reach, why: str, *, most: Scope) -> Approval:
    """Return the approval to ask for; ``most`` is the widest answer that makes sense.

    Raises:
        ToolError: the call would fail, so there is nothing to ask.
    """
    diff = call.tool.preview(call.arguments, context) if isinstance(call.tool, Previewing) else ""
    rules = _rules(call.tool.name, found.subjects) if most != "once" else ()
    scopes: tuple[Scope, ...] = ("once",)
    if rules:
        scopes = ("once", "session") if most == "session" else ("once", "session", "always")
    text = _text(call, context, found.subjects, diffed=bool(diff))
    return Approval(call, text, show(diff), show(why), rules, scopes, found.places)


def _rules(tool: str, subjects: Sequence[Subject]) -> tuple[Rule, ...]:
    """Return the rules that would let exactly this call pass next time; none when one of them cannot be written."""
    found: list[Rule] = []
    for subject in subjects:
        if subject.seen_through:
            continue
        rule = subject.rule(tool)
        if rule is None:
            return ()
        if rule not in found:
            found.append(rule)
    return tuple(found)


def _text(call: Call, context: ToolContext, subjects: Sequence[Subject], *, diffed: bool) -> str:
    needs = call.tool.needs
    named = {*needs.reads, *needs.writes}
    lines = [call.tool.name]
    for name, value in call.arguments.items():
        if diffed and name not in named:
            continue  # the diff shows it
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = show(text)
        lines.append(f"  {show(name)}: {shown}" if "\n" not in shown else f"  {show(name)}:\n{shown}")
    given = {str(call.arguments.get(each, ".")) for each in named}
    real = [each.text for each in subjects if each.kind in ("read", "write") and each.text not in given]
    lines += [f"  really: {show(each)}" for each in real]
    if needs.command is not None:
        lines.append(f"  in: {show(str(context.workspace))}")
        lines.append(
            "  in a sandbox without network"
            if context.sandbox
            else "  not in a sandbox: it can do what you can"
        )
    return "\n".join(lines)
