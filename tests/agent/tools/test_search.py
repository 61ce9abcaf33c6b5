"""Searching, by ripgrep where it is installed and by our own script: both must answer alike."""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.tools.protocol import Limits, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry


@pytest.fixture(params=["ripgrep", "python"])
def search_context(request: pytest.FixtureRequest, context: ToolContext, tmp_path: Path) -> ToolContext:
    if request.param == "ripgrep":
        if shutil.which("rg", path=context.environment["PATH"]) is None:
            pytest.skip("ripgrep is not installed")
        return context
    return dataclasses.replace(context, environment={"PATH": str(tmp_path)})


def search(registry: Registry, context: ToolContext, pattern: str, **more: Any) -> ToolResult:
    return registry.run("search_files", json.dumps({"pattern": pattern, **more}), context)


@pytest.fixture
def tree(workspace: Path, outside: Path) -> Path:
    (workspace / "b").mkdir()
    (workspace / "b" / "two.txt").write_text("nothing\nfind me: here\r\n")
    (workspace / "a.txt").write_text("find me\nFIND ME\n")
    (workspace / ".hidden").write_text("find me\n")
    (workspace / "binary").write_bytes(b"find me\0\n")
    for skipped in (".git", "node_modules", "b/__pycache__"):
        (workspace / skipped).mkdir()
        (workspace / skipped / "x").write_text("find me\n")
    (workspace / "link").symlink_to(outside)
    (workspace / "file_link").symlink_to(outside / "secret.txt")
    (workspace / ".gitignore").write_text("a.txt\n")
    return workspace


def test_it_finds_lines_in_order(registry: Registry, search_context: ToolContext, tree: Path) -> None:
    result = search(registry, search_context, "find m[e]")
    assert result == ToolResult("ok", ".hidden:1: find me\na.txt:1: find me\nb/two.txt:2: find me: here")


def test_it_searches_a_folder_or_a_file(registry: Registry, search_context: ToolContext, tree: Path) -> None:
    assert search(registry, search_context, "find", path="b").text == "b/two.txt:2: find me: here"
    assert search(registry, search_context, "find", path="b/two.txt").text == "b/two.txt:2: find me: here"
    assert (
        search(registry, search_context, "(?i)find", path="a.txt").text
        == "a.txt:1: find me\na.txt:2: FIND ME"
    )


def test_it_does_not_leave(registry: Registry, search_context: ToolContext, tree: Path) -> None:
    assert search(registry, search_context, "SECRET").text == "No line matches."
    for path in ("link", "file_link", "link/secret.txt", "..", "missing"):
        result = search(registry, search_context, "SECRET", path=path)
        assert result.status == "error"
        assert "OUTSIDE" not in result.text


def test_a_wrong_pattern_is_told(registry: Registry, search_context: ToolContext, tree: Path) -> None:
    for pattern in ("(", "a\0b", "\ud800"):
        assert search(registry, search_context, pattern).status == "error"
    assert search(registry, search_context, "--files").text == "No line matches."
    assert search(registry, search_context, "-e").text == "No line matches."


def test_many_and_long_matches_are_cut(registry: Registry, search_context: ToolContext, tree: Path) -> None:
    (tree / "many").write_text("match " * 1000 + "\n" + "match\n" * 3000)
    result = search(registry, search_context, "match", path="many")
    lines = result.text.splitlines()
    assert lines[0].endswith("[…]")
    assert len(lines[0]) < 600
    assert "more than 1,000 matches" in lines[-1]


def test_a_runaway_pattern_is_stopped(
    registry: Registry, context: ToolContext, workspace: Path, tmp_path: Path
) -> None:
    """Python's own engine takes longer than the universe for this; only killing its process helps."""
    (workspace / "x").write_text("a" * 64 + "!\n")
    context = dataclasses.replace(
        context, environment={"PATH": str(tmp_path)}, limits=Limits(search_seconds=1.0)
    )
    started = time.monotonic()
    result = search(registry, context, "^(a+)+$")
    assert "stopped after 1 seconds" in result.text
    assert time.monotonic() - started < 30


def test_a_name_with_a_newline_passes_for_no_other_file(
    registry: Registry, search_context: ToolContext, workspace: Path
) -> None:
    (workspace / "x\nsecret.txt").write_text("find me\nand me\n")
    (workspace / "y\x1b[2J").write_text("find me\n")
    assert search(registry, search_context, "me").text.splitlines() == [
        "x\\nsecret.txt:1: find me",
        "x\\nsecret.txt:2: and me",
        "y\\x1b[2J:1: find me",
    ]
