"""A clock for tests."""

from __future__ import annotations


class Clock:
    """Milliseconds that move only when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now
