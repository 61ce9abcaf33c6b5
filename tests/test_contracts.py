"""Promises about the shape of the code: which way imports go, and what is not loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from importlinter import cli as importlinter

import skippy_chat


def loaded_by(module: str) -> set[str]:
    """Return the top-level names in ``sys.modules`` after a fresh interpreter imported ``module``."""
    program = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_imports_go_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    failed = importlinter.lint_imports(no_cache=True)
    assert failed == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "module",
    [
        "skippy_chat.agent.opening",
        "skippy_chat.api",
        "skippy_chat.checkpoints.store",
        "skippy_chat.headless",
        "skippy_chat.cli",
        "skippy_chat.tui.launch",
    ],
)
def test_the_native_library_is_loaded_only_in_the_worker(module: str) -> None:
    assert "llama_cpp" not in loaded_by(module)


@pytest.mark.parametrize("heavy", ["numpy", "prompt_toolkit", "rich", "sqlite3", "gguf", "textual"])
def test_the_command_line_starts_without_what_it_may_not_need(heavy: str) -> None:
    assert heavy not in loaded_by("skippy_chat.cli")


def test_the_version_is_the_packages() -> None:
    assert skippy_chat.__version__.count(".") == 2
