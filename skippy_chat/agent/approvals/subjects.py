"""What a call reaches for, as rules see it: real paths, plain commands, addresses, or only the call itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from skippy_chat.agent.approvals.patterns import (
    exact_command,
    exact_path,
    fits_address,
    fits_command,
    fits_path,
    reaches_below,
)
from skippy_chat.agent.approvals.shell import NotPlain, simple_commands
from skippy_chat.agent.approvals.values import Rule
from skippy_chat.agent.approvals.wrappers import Doubtful, unwrapped
from skippy_chat.agent.tools.addresses import read_url
from skippy_chat.agent.tools.gate import Place
from skippy_chat.agent.tools.protocol import Call, ToolContext

Kind: TypeAlias = Literal["read", "write", "command", "network", "call"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a call reaches for; ``argv`` is set for commands, ``text`` for the others.

    ``seen_through`` marks commands as written, with their wrappers: forbidding looks at them too.
    """

    kind: Kind
    text: str = ""
    argv: tuple[str, ...] = ()
    seen_through: bool = False
    below: bool = False  # reads all below a folder

    def fits(self, pattern: str, *, widely: bool) -> bool:
        """Tell whether a rule's pattern fits; ``widely`` for rules that ask or deny."""
        if not pattern:
            return True
        if self.kind == "command":
            return fits_command(pattern, self.argv, widely=widely)
        if self.kind in ("read", "write"):
            return fits_path(pattern, self.text, widely=widely)
        if self.kind == "network":
            return fits_address(pattern, self.text)
        return pattern == "*"

    def takes_in(self, pattern: str) -> bool:
        """Tell whether it may read, among other things, what a path pattern fits."""
        return self.below and reaches_below(pattern, self.text)

    def rule(self, tool: str) -> Rule | None:
        """Return the rule that "session" and "always" would remember, None where none is narrow enough."""
        pattern: str | None = ""
        if self.kind == "command":
            pattern = exact_command(self.argv)
        elif self.kind == "read":
            pattern = "**"
        elif self.kind == "write":
            pattern = exact_path(self.text)
        elif self.kind == "network":
            target = read_url(self.text)
            pattern = f"{target.scheme}://{target.host_header}/*"
        return None if pattern is None else Rule(tool, pattern, "allow")


@dataclass(frozen=True, slots=True)
class Reach:
    """All subjects of a call; ``doubt`` says why its command line cannot be judged by rules, if so.

    ``places`` tells where its paths lead, by the path as given.
    """

    subjects: tuple[Subject, ...]
    doubt: str = ""
    places: Mapping[str, Place] = field(default_factory=dict)


def reach(call: Call, context: ToolContext) -> Reach:
    """Find out what a call reaches for.

    Raises:
        ToolError: the gate refuses a path, or an address is none; the call would fail so too.
    """
    needs = call.tool.needs
    found: list[Subject] = []
    places: dict[str, Place] = {}
    doubt = ""
    paths: list[tuple[Kind, str]] = [
        *(("read", each) for each in needs.reads),
        *(("write", each) for each in needs.writes),
    ]
    for kind, name in paths:
        path = str(call.arguments.get(name, "."))
        place = places[path] = context.gate.locate(path)
        # Other folders are readable because this program put its own output there.
        if kind == "write" or place.root == context.gate.root:
            below = kind == "read" and needs.below
            found.append(Subject(kind, place.relative, below=below))
    if needs.command is not None:
        commands, doubt = _commands(str(call.arguments.get(needs.command, "")))
        found += commands
    if needs.network is not None:
        found.append(Subject("network", read_url(str(call.arguments.get(needs.network, ""))).url))
    if not paths and needs.command is None and needs.network is None:
        found.append(Subject("call"))
    return Reach(tuple(found), doubt, places)


def _commands(line: str) -> tuple[list[Subject], str]:
    try:
        written = [Subject("command", argv=tuple(each), seen_through=True) for each in simple_commands(line)]
    except NotPlain as error:
        return [], f"The command line holds {error}, which only a shell can read."
    try:
        return [*written, *(Subject("command", argv=tuple(each)) for each in unwrapped(line))], ""
    except NotPlain as error:
        return written, f"A command line inside the command holds {error}, which only a shell can read."
    except Doubtful as error:
        return written, f"Not all that the command runs can be seen: {error}."
