"""The time of day: the clock that was passed in, in the zone that was named."""

from __future__ import annotations

import json
import zoneinfo
from typing import Any

import pytest

from skippy_chat.agent.tools.protocol import ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry


def ask(registry: Registry, context: ToolContext, **arguments: Any) -> ToolResult:
    return registry.run("current_time", json.dumps(arguments), context)


def test_the_persons_own_zone(registry: Registry, context: ToolContext) -> None:
    assert ask(registry, context) == ToolResult("ok", "Saturday, 2026-03-14 15:09:26 CET (UTC+0100)")


@pytest.mark.skipif(not zoneinfo.available_timezones(), reason="this system knows no zones")
def test_a_named_zone(registry: Registry, context: ToolContext) -> None:
    text = ask(registry, context, timezone="Asia/Tokyo").text
    assert text == "Saturday, 2026-03-14 23:09:26 JST (UTC+0900) Asia/Tokyo"
    wrong = ask(registry, context, timezone="Europe/Rom")
    assert wrong.status == "error"
    assert "Did you mean Europe/Rom" in wrong.text


@pytest.mark.parametrize(
    "zone", ["", "Mars/Base", "../../etc/passwd", "/etc/passwd", "a\0b", "\ud800", "x" * 5000]
)
def test_what_is_no_zone(registry: Registry, context: ToolContext, zone: str) -> None:
    assert ask(registry, context, timezone=zone).status == "error"
