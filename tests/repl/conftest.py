"""Real terminals for the REPL's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.repl.screen import ROOT, Screen

Open = Callable[..., Screen]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        **{f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")},
    }


@pytest.fixture
def terminal(folders: dict[str, str]) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_terminal(scenario: str, *arguments: str, columns: int = 80, **env: str) -> Screen:
            screen = Screen(scenario, *(arguments or ("repl",)), env={**folders, **env}, columns=columns)
            return stack.enter_context(screen)

        yield open_terminal


@pytest.fixture
def tools(folders: dict[str, str]) -> Iterator[Open]:
    """Like ``terminal``, on the conversations that call tools."""
    with ExitStack() as stack:

        def open_terminal(scenario: str, *arguments: str, **env: str) -> Screen:
            screen = Screen(
                scenario,
                *(arguments or ("repl",)),
                env={**folders, **env},
                program="tests.repl.tool_program",
            )
            return stack.enter_context(screen)

        yield open_terminal


@pytest.fixture
def tool_pipe(folders: dict[str, str]) -> Callable[[str, str], subprocess.CompletedProcess[str]]:
    """The same without a terminal."""

    def chat(scenario: str, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tests.repl.tool_program", scenario, "repl"],
            cwd=ROOT,
            env={**folders, "LANG": "C.UTF-8", "TERM": "xterm-256color"},
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return chat
