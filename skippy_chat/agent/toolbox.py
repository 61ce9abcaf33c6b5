"""All that a conversation needs to let a model call tools, put together once when it is opened."""

from __future__ import annotations

from dataclasses import dataclass, field

from skippy_chat.agent.approvals.policy import Policy
from skippy_chat.agent.approvals.values import Action
from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.agent.tools.journal import Journal
from skippy_chat.agent.tools.protocol import Tool, ToolContext
from skippy_chat.agent.tools.registry import Registry


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Bounds of one turn: model steps, and tokens generated over all of them (0: no limit)."""

    steps: int = 25
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a session, who may call them, and where they run.

    ``context`` is what every call shares; the loop gives each call its own id, output, cancel and undo entries.
    ``journal`` keeps before-images by turn; None where nothing can be undone. ``can_ask``: somebody is there to answer
    approvals. ``parallel``: the model may make several calls in one answer.
    """

    registry: Registry
    policy: Policy
    context: ToolContext
    journal: Journal | None = None
    can_ask: bool = False
    parallel: bool = False
    tool_choice: str = "auto"
    limits: LoopLimits = field(default_factory=LoopLimits)

    def infos(self) -> tuple[ToolInfo, ...]:
        """Return what people are told about the tools, sorted by name."""
        return tuple(ToolInfo(each.name, each.description, self._usually(each)) for each in self.registry)

    def _usually(self, tool: Tool) -> Action:
        action = self.policy.usually(tool)
        return "deny" if action == "ask" and not self.can_ask else action
