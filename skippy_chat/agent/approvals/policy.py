"""Judging calls: rules, then the mode, then doubt.

Order: a rule that denies wins over all; what a person allowed in this session wins over rules that ask; these win over
rules that allow; then the mode decides. A command line that cannot be judged is asked about, whatever the rules allow.

Invariant: a judgement is never wider than what the person said: every command of a line, every path and every address
must be allowed, each on its own.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skippy_chat.agent.approvals.question import question
from skippy_chat.agent.approvals.repeats import MOST, RepeatWatch
from skippy_chat.agent.approvals.rules_file import add_rules
from skippy_chat.agent.approvals.subjects import Kind, Reach, Subject, reach
from skippy_chat.agent.approvals.values import (
    Action,
    Allow,
    Approval,
    Ask,
    Decision,
    Deny,
    Judgement,
    Rule,
    Scope,
)
from skippy_chat.agent.tools.protocol import Call, Tool, ToolContext, ToolResult
from skippy_chat.config import Approve
from skippy_chat.errors import ToolError, UsageError


@dataclass(frozen=True, slots=True)
class _Judged:
    """What becomes of one subject, and whether a rule said so."""

    action: Action
    why: str
    by_rule: bool = False


class Policy:
    """The rules, the mode, and what was decided in this session."""

    def __init__(self, mode: Approve, rules: Sequence[Rule] = (), rules_file: Path | None = None) -> None:
        """``rules_file`` is the person's own, where "always" is written; None: nowhere to write it."""
        self.mode = mode
        self._rules = list(rules)
        self._rules_file = rules_file
        self._watch = RepeatWatch()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules that count now."""
        return tuple(self._rules)

    def judge(self, call: Call, context: ToolContext) -> Judgement:
        """Say whether a call may run; nothing is changed by asking."""
        try:
            found = reach(call, context)
            return self._judge(call, found, context)
        except ToolError as error:
            return Deny(str(error))

    def remember(self, decision: Decision) -> None:
        """Keep an answer as long as it says.

        Raises:
            UsageError: an answer that the question did not offer.
            ConfigError: "always" could not be written; it counts for this session all the same.
        """
        approval = decision.approval
        if decision.scope not in approval.scopes:
            raise UsageError(f"This call cannot be answered for {decision.scope}.", "Answer once.")
        if decision.allowed:
            self._watch.forgive(approval.call)
        if decision.scope == "once":
            return
        action: Action = "allow" if decision.allowed else "deny"
        rules = [replace(each, action=action, source="session") for each in approval.rules]
        self._rules += [each for each in rules if each not in self._rules]
        if decision.scope == "always":
            assert self._rules_file is not None
            add_rules(self._rules_file, [replace(each, source="user") for each in rules])

    def record(self, call: Call, result: ToolResult) -> None:
        """Take what a call gave, so that circles are noticed."""
        self._watch.note(call, result)

    def usually(self, tool: Tool) -> Action:
        """Return what becomes of a tool's calls where no rule for some of them and no doubt says otherwise."""
        rules = [
            each for each in self._rules if not each.pattern and fnmatch.fnmatchcase(tool.name, each.tool)
        ]
        if any(each.action == "deny" for each in rules):
            return "deny"
        for rule in _in_order(rules):
            return "deny" if rule.action == "ask" and self.mode == "deny" else rule.action
        needs = tool.needs
        kinds: tuple[tuple[Kind, object], ...] = (
            ("read", needs.reads),
            ("write", needs.writes),
            ("command", needs.command),
            ("network", needs.network),
        )
        found = [kind for kind, named in kinds if named] or ["call"]
        actions = {self._by_mode(tool, kind)[0] for kind in found}
        return "deny" if "deny" in actions else "ask" if "ask" in actions else "allow"

    def _judge(self, call: Call, found: Reach, context: ToolContext) -> Judgement:
        rules = [each for each in self._rules if fnmatch.fnmatchcase(call.tool.name, each.tool)]
        for rule in rules:
            if rule.action == "deny" and any(each.fits(rule.pattern, widely=True) for each in found.subjects):
                return Deny(f"A rule denies it: {_told(rule)}.")
        if found.doubt:
            return self._doubtful(call, found, rules, context)
        judged = [self._subject(call, subject, rules) for subject in found.subjects]
        for each in judged:
            if each.action == "deny":
                return Deny(each.why)
        if held_back := self._held_back(found, rules):
            return self._ask(call, found, context, held_back, most="once")
        asking = [each for each in judged if each.action == "ask"]
        if asking:
            # What a rule asks about, a rule of the same file cannot allow.
            by_rule = [each for each in asking if each.by_rule]
            most: Scope = "session" if by_rule else self._widest
            return self._ask(call, found, context, (by_rule or asking)[0].why, most=most)
        why = next((each.why for each in judged if each.why), "")
        return self._circling(call, found, context) or Allow(why, found.places)

    def _held_back(self, found: Reach, rules: Sequence[Rule]) -> str:
        """Say which rule holds back a part of what a search would read."""
        for rule in rules:
            if rule.action != "allow" and any(each.takes_in(rule.pattern) for each in found.subjects):
                return f"It would read, among others, what a rule {_VERBS[rule.action]}: {_told(rule)}."
        return ""

    def _circling(self, call: Call, found: Reach, context: ToolContext) -> Judgement | None:
        if not self._watch.is_circling(call):
            return None
        why = f"The same call gave the same result {MOST} times."
        return self._ask(call, found, context, why, most="once")

    def _doubtful(self, call: Call, found: Reach, rules: Sequence[Rule], context: ToolContext) -> Judgement:
        # "All" is the person's word for everything, unless rules hold something back that may be hidden in there.
        if self.mode == "all" and all(each.action == "allow" for each in rules):
            return self._circling(call, found, context) or Allow("Everything is allowed.", found.places)
        return self._ask(call, found, context, found.doubt, most="once")

    def _subject(self, call: Call, subject: Subject, rules: Sequence[Rule]) -> _Judged:
        for rule in _in_order(rules):
            if subject.fits(rule.pattern, widely=rule.action == "ask"):
                why = f"A rule {_VERBS[rule.action]} it: {_told(rule)}."
                return _Judged(rule.action, why, by_rule=True)
        if subject.seen_through:
            return _Judged("allow", "")  # what is inside the wrapper is judged on its own
        return _Judged(*self._by_mode(call.tool, subject.kind))

    def _by_mode(self, tool: Tool, kind: Kind) -> tuple[Action, str]:
        harmless = kind == "call" and tool.read_only
        reading = kind == "read" and tool.read_only
        if self.mode == "all":
            return "allow", "Everything is allowed."
        if harmless or (reading and self.mode == "auto-read"):
            return "allow", "It only reads." if reading else "It changes nothing."
        if self.mode == "deny":
            return "deny", f"Whatever needs approval is denied: {_WHAT[kind]}."
        return "ask", f"{_WHAT[kind].capitalize()} needs approval."

    @property
    def _widest(self) -> Scope:
        return "always" if self._rules_file is not None else "session"

    def _ask(self, call: Call, found: Reach, context: ToolContext, why: str, *, most: Scope) -> Judgement:
        if self.mode == "deny":
            return Deny(f"Whatever needs approval is denied: {why}")
        return Ask(question(call, context, found, why, most=most))


def without_terminal(judgement: Judgement) -> Allow | Deny:
    """Turn a question into a no where nobody can be asked."""
    if isinstance(judgement, Ask):
        return Deny(f"It needs approval, and nobody can be asked here: {judgement.approval.why}")
    return judgement


def bound(context: ToolContext, judged: Allow | Approval) -> ToolContext:
    """Return the context to run a judged call in: its paths must still lead where they led."""
    return replace(context, gate=context.gate.expecting(judged.places))


_VERBS = {"allow": "allows", "ask": "asks about", "deny": "denies"}
_WHAT = {
    "read": "reading files",
    "write": "writing files",
    "command": "running a command",
    "network": "reaching the network",
    "call": "calling this tool",
}


def _in_order(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules that do not deny, the one that counts first."""
    return [
        *(each for each in rules if each.action == "allow" and each.source == "session"),
        *(each for each in rules if each.action == "ask"),
        *(each for each in rules if each.action == "allow" and each.source != "session"),
    ]


def _told(rule: Rule) -> str:
    return f"{rule.tool} {rule.pattern}".strip() + f" ({rule.source})"
