"""The real base model, from the user's cache, where it is fetched once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skippy_chat.errors import ModelFileError
from skippy_chat.models.resolve import BASE_ALIAS, resolve_model
from skippy_chat.paths import Paths
from tests.models.small import small_llama


def ignore(what: str, done: int, total: int) -> None:
    """Take a progress report."""


@pytest.fixture(scope="session")
def base_gguf() -> Path:
    """The plain SmolLM2; without it the tests are skipped on a desk and fail on a build machine."""
    try:
        cache = Paths.resolve(env=os.environ).cache_dir
        return resolve_model(BASE_ALIAS, cache_dir=cache, progress=ignore)
    except ModelFileError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the base model cannot be had: {error}")


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    """A small llama with F32 weights."""
    path = tmp_path / "small.gguf"
    small_llama(path)
    return path
