"""All tools of a session, and the one place where they run.

Invariant: ``run`` never raises: an unknown name, arguments that do not fit and a tool that fails are results that the
model sees, with what it needs to do better. What models read of the tools is the same bytes every time: sorted by name.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from skippy_chat.agent.tools.arguments import BadArguments, check_arguments, read_arguments
from skippy_chat.agent.tools.output import keep
from skippy_chat.agent.tools.protocol import Call, Tool, ToolContext, ToolResult
from skippy_chat.errors import ConfigError, SkippyError

_SLACK = 512  # bytes for the lines a tool adds to output that it shortened itself


class Registry:
    """Tools by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Sort the tools.

        Raises:
            ConfigError: two tools of one name.
        """
        self._tools: dict[str, Tool] = {}
        for tool in sorted(tools, key=lambda each: each.name):
            if tool.name in self._tools:
                raise ConfigError(
                    f"There are two tools named {tool.name}.", "Rename or leave out one of them."
                )
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name."""
        return self._tools.get(name)

    def schemas(self) -> list[dict[str, Any]]:
        """Return name, description and parameters of every tool, sorted by name."""
        return [
            {"name": each.name, "description": each.description, "parameters": dict(each.parameters)}
            for each in self
        ]

    def schemas_json(self) -> str:
        """Return ``schemas`` as JSON, the same bytes every time."""
        return json.dumps(self.schemas(), ensure_ascii=False, separators=(",", ":"))

    def resolve(self, name: str, raw: str) -> Call | ToolResult:
        """Return a call that can be judged and run, or the result that tells the model why there is none."""
        tool = self._tools.get(name)
        if tool is None:
            close = difflib.get_close_matches(name[:80], self._tools, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            known = ", ".join(self._tools) or "none"
            shown = name[:80].encode("utf-8", "replace").decode()
            return ToolResult("error", f'There is no tool "{shown}".{hint} Tools: {known}.')
        try:
            arguments = read_arguments(raw)
            check_arguments(arguments, tool.parameters)
        except BadArguments as error:
            schema = json.dumps(dict(tool.parameters), ensure_ascii=False)
            text = f"{name} was not run: {error}.\nIts arguments must fit this JSON Schema: {schema}"
            return ToolResult("error", _plain(text))
        return Call(tool, arguments)

    def run(self, name: str, raw: str, context: ToolContext) -> ToolResult:
        """Run a call by name and argument text, without asking anybody."""
        call = self.resolve(name, raw)
        return call if isinstance(call, ToolResult) else self.execute(call, context)

    def execute(self, call: Call, context: ToolContext) -> ToolResult:
        """Run a call that was judged."""
        if context.cancel.is_set():
            return ToolResult("error", "Cancelled before it began.")
        try:
            result = call.tool.run(call.arguments, context)
        except SkippyError as error:
            result = ToolResult("error", str(error))
        except Exception as error:  # noqa: BLE001  a tool's own fault must not end the turn
            result = ToolResult("error", f"{call.tool.name} failed: {type(error).__name__}: {error}")
        return _bounded(result, call, context)


def _bounded(result: ToolResult, call: Call, context: ToolContext) -> ToolResult:
    limit = context.limits.output_bytes + (_SLACK if result.spilled is not None else 0)
    text = _plain(result.text)
    if len(text.encode()) <= limit + _SLACK:
        return replace(result, text=text)
    kept = keep(text, context.output_folder, context.call or call.tool.name, context.limits.output_bytes)
    return replace(result, text=kept.text, spilled=result.spilled or kept.spilled)


def _plain(text: str) -> str:
    """Replace half characters: nothing after this can encode them."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
