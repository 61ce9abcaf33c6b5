"""The values that rules, judgements and questions are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from skippy_chat.agent.tools.gate import Place
from skippy_chat.agent.tools.protocol import Call

Action: TypeAlias = Literal["allow", "ask", "deny"]
Scope: TypeAlias = Literal["once", "session", "always"]
Source: TypeAlias = Literal["flag", "session", "user", "project"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with calls of ``tool`` (``*``: every tool) whose command, path or address fits ``pattern``.

    An empty pattern fits every call. ``patterns.py`` says how the others are read.
    """

    tool: str
    pattern: str
    action: Action
    source: Source = "user"


@dataclass(frozen=True, slots=True)
class Approval:
    """The question as data: everything a person must see before "allow" may be offered.

    ``text`` is complete and safe to show: what cannot be seen is written out (``showing.py``). ``diff`` is as safe, and
    empty where nothing is written. ``rules`` are what "session" and "always" would remember, together; ``scopes``
    are the answers that may be given.
    """

    call: Call
    text: str
    diff: str
    why: str
    rules: tuple[Rule, ...] = ()
    scopes: tuple[Scope, ...] = ("once",)
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.call.tool.name


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer; ``reason`` goes to the model when it is no."""

    approval: Approval
    allowed: bool
    scope: Scope = "once"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Allow:
    """Run it; ``why`` names the rule or mode, ``places`` where its paths led when it was judged."""

    why: str
    places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask first."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; ``reason`` is for the model and for people."""

    reason: str


Judgement: TypeAlias = "Allow | Ask | Deny"
