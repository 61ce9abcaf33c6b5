"""A throw-away workspace in which the product's own tools run: for results in the training data, and to prove cases.

The tools are the real ones, so what the model learns to read is what it will read.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from skippy_chat.agent.tools.built_in import NAMES, built_in_tools
from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.protocol import ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry

_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


class Room:
    """A folder of files and the tools that may work on it."""

    def __init__(self, folder: Path, now: datetime) -> None:
        self.folder = folder
        self._registry = Registry(built_in_tools(NAMES))
        self._context = ToolContext(
            gate=PathGate(folder),
            output_folder=folder.with_name(f"{folder.name}.out"),
            environment=_ENVIRONMENT,
            now=lambda: now,
        )

    def run(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one call as the agent loop would."""
        return self._registry.run(tool, json.dumps(arguments), self._context)


def furnish(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, by relative path, into a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


@contextmanager
def room(files: Mapping[str, str], now: datetime) -> Iterator[Room]:
    """Give a room with these files; it is gone afterwards. ``now`` is aware: what its clock says."""
    with tempfile.TemporaryDirectory(prefix="skippy-training-") as scratch:
        folder = Path(scratch) / "workspace"
        folder.mkdir()
        furnish(folder, files)
        yield Room(folder, now)
