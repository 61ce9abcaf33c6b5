"""Fixtures that several folders share: isolated folders, and the real models that tests run on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from skippy_chat.models.resolve import resolve_model
from skippy_chat.paths import Paths

# The same examples for the same test, so that a check says something about the change it checks. To look for more with
# fresh ones: pytest --hypothesis-profile=default
# No limit on the clock either: a busy machine makes any example slow, and pytest's own limit ends one that hangs.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


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


@pytest.fixture(scope="session")
def default_model() -> Path:
    """The default hybrid model in the user's cache, made if need be."""
    cache = Paths.resolve(env=os.environ).cache_dir
    return resolve_model(None, cache_dir=cache, progress=lambda what, done, total: None)
