"""``current_time``: the date and time of day, in a named zone or the person's own."""

from __future__ import annotations

import difflib
import functools
import zoneinfo
from typing import ClassVar

from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.protocol import Arguments, ToolContext, ToolResult
from skippy_chat.errors import ToolError


class CurrentTime(BuiltIn):
    """Tells the time."""

    name: ClassVar[str] = "current_time"

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Return weekday, date, time, zone and offset."""
        now = context.now()
        name = arguments.get("timezone")
        if name is not None:
            now = now.astimezone(_zone(name))
        shown = now.strftime("%A, %Y-%m-%d %H:%M:%S %Z (UTC%z)")
        return ToolResult("ok", f"{shown} {name}" if name is not None else shown)


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())  # opens some six hundred files


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        close = difflib.get_close_matches(name[:60], _known(), n=1)
        hint = f"Did you mean {close[0]}?" if close else "Names look like Europe/Rome."
        raise ToolError(f"There is no time zone {name[:60]!a}.", hint) from error
