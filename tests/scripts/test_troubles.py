"""The page of troubles leaves none out."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from scripts.reference.json_shapes import error_kinds
from scripts.reference.troubles import MISSES, WHY, troubles
from skippy_chat.errors import ContextFull
from skippy_chat.events import MissKind

PAGE = (Path(__file__).parents[2] / "docs/troubleshooting.md").read_text("utf-8")


def test_every_error_has_what_why_and_the_mend() -> None:
    assert set(WHY) == {kind.__name__ for kind in error_kinds()}
    for kind in error_kinds():
        section = PAGE.partition(f"\n### {kind.__name__}\n")[2].partition("\n### ")[0]
        assert f"`{kind.code}`, exit code {kind.exit_code}." in section
        assert "- **Why:** " in section
        assert "- **Mend:** " in section


def test_every_reason_for_a_miss_is_told() -> None:
    assert set(MISSES) == set(get_args(MissKind))


def test_the_words_that_errors_are_raised_with_are_there() -> None:
    words = troubles()
    section = words.partition(f"### {ContextFull.__name__}\n")[2].partition("\n### ")[0]
    assert "The conversation has … tokens, the context holds …: … too many to answer." in section
    assert "Choose another with --cache-dir." in words  # a hint of its own
