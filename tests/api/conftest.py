"""Scripts' conversations on the default model, in folders of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from skippy_chat import Skippy

Open = Callable[..., Skippy]


@pytest.fixture
def open_chat(tmp_path: Path, default_model: Path) -> Iterator[Open]:
    """Open a ``Skippy`` that answers greedily and briefly, closed at the end."""
    tmp_path.chmod(0o700)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with ExitStack() as stack:

        def open_(**wanted: Any) -> Skippy:
            fixed: dict[str, Any] = {
                "model": default_model,
                "workspace": workspace,
                "data_dir": tmp_path / "data",
                "cache_dir": tmp_path / "cache",
                "config_dir": tmp_path / "config",
                "threads": 1,
                "ctx": 1024,
                "temperature": 0.0,
                "seed": 1,
                "max_tokens": 6,
                "env": {},
            }
            return stack.enter_context(Skippy(**{**fixed, **wanted}))

        yield open_
