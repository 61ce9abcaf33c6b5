"""What tests of typing share: a workspace with files and prompts, and what helps to type in it."""

from __future__ import annotations

from pathlib import Path

from skippy_chat.completions.aids import TypingAids
from skippy_chat.paths import Paths
from skippy_chat.typed_history import TypedHistory


def aids_in(folder: Path, *, keep: bool = True) -> TypingAids:
    """Make a workspace below ``folder``, and return what helps to type there."""
    workspace = folder / "work"
    (workspace / "src").mkdir(parents=True)
    (workspace / "notes.md").write_text("Buy milk.\n")
    (workspace / "src" / "main.py").write_text("print(1)\n")
    (workspace / "src" / "my file.txt").write_text("mine\n")
    (workspace / "logo.png").write_bytes(b"\x89PNG\0")
    paths = Paths(folder / "data", folder / "cache", folder / "config")
    paths.prompts_dir.mkdir(parents=True)
    (paths.prompts_dir / "explain.md").write_text('+++\ndescription = "A word"\n+++\nExplain $ARGUMENTS.')
    return TypingAids(paths, workspace, TypedHistory(paths.history_db, now=lambda: 999_940_000, keep=keep))
