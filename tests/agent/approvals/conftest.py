"""Calls to judge, in a workspace of one test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from skippy_chat.agent.tools.built_in import NAMES, built_in_tools
from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.protocol import Call, ToolContext
from skippy_chat.agent.tools.registry import Registry

MakeCall: TypeAlias = Callable[..., Call]


@tool
def custom(text: str) -> str:
    """Do something of one's own."""
    return text


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    (folder / "src").mkdir()
    (folder / "src" / "x.py").write_text("x = 1\n")
    return folder.resolve()


@pytest.fixture
def context(workspace: Path, tmp_path: Path) -> ToolContext:
    (tmp_path / "output").mkdir()
    return ToolContext(
        gate=PathGate(workspace, readable=(tmp_path / "output",)),
        output_folder=tmp_path / "output",
        environment={"PATH": os.environ["PATH"]},
        now=lambda: datetime(2026, 1, 1, tzinfo=timezone.utc),
    )


@pytest.fixture
def make_call() -> MakeCall:
    registry = Registry([*built_in_tools(NAMES), custom])

    def make(name: str, **arguments: Any) -> Call:
        call = registry.resolve(name, json.dumps(arguments))
        assert isinstance(call, Call), call
        return call

    return make
