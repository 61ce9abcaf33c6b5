"""``calculator``: arithmetic, exact for whole numbers."""

from __future__ import annotations

from typing import ClassVar

from skippy_chat.agent.tools.arithmetic import compute
from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.protocol import Arguments, ToolContext, ToolResult


class Calculator(BuiltIn):
    """Computes."""

    name: ClassVar[str] = "calculator"

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:  # noqa: ARG002 - as every tool
        """Return the value."""
        return ToolResult("ok", compute(arguments["expression"]))
