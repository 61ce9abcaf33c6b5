"""A workspace of one test, and a context to call tools in it."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from skippy_chat.agent.tools.built_in import NAMES, built_in_tools
from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.protocol import ToolContext
from skippy_chat.agent.tools.registry import Registry

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=timezone(timedelta(hours=1), "CET"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("SECRET-OF-THE-OUTSIDE\n")
    return folder.resolve()


@pytest.fixture
def context(workspace: Path, tmp_path: Path) -> ToolContext:
    output = tmp_path / "output"
    output.mkdir()
    return ToolContext(
        gate=PathGate(workspace, readable=(output,)),
        output_folder=output,
        environment={"PATH": os.environ["PATH"]},
        now=lambda: NOW,
    )


@pytest.fixture
def registry() -> Registry:
    return Registry(built_in_tools(NAMES))
