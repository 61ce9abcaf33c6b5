"""Real terminals for the REPL's tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.repl.screen import Screen

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

        def open_terminal(scenario: str, *arguments: str, **env: str) -> Screen:
            return stack.enter_context(Screen(scenario, *(arguments or ("repl",)), env={**folders, **env}))

        yield open_terminal
