"""Fixtures that several folders share: isolated folders, and the real models that tests run on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_model() -> Callable[[str], Path]:
    """Return the path of a generated tiny model of an architecture, for example ``falcon-h1-dense``."""
    folder = os.environ.get("SKIPPY_TINY_MODELS", "")
    if not folder or not Path(folder).is_dir():
        pytest.fail("SKIPPY_TINY_MODELS is not set: run the tests with `make test`.")

    def find(name: str) -> Path:
        path = Path(folder) / f"{name}.gguf"
        if not path.is_file():
            pytest.fail(f"There is no tiny model {name}.")
        return path

    return find
