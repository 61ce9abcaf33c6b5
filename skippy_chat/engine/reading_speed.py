"""How fast this worker reads prompts, measured on what it has read.

Invariant: before enough was read nothing is said; no figure comes from anywhere but the steps of this worker.
"""

from __future__ import annotations

ENOUGH_TOKENS = 64
"""Fewest tokens that say something about the speed."""

REMEMBERED_TOKENS = 8192
"""Past so many tokens the older half counts half: what is read later is read behind more."""


class ReadingSpeed:
    """Tokens read and the seconds it took; written by one thread, read by any."""

    def __init__(self) -> None:
        self._read = (0.0, 0.0)

    def learn(self, tokens: int, seconds: float) -> None:
        """Take in what a step has read."""
        if tokens <= 0 or seconds <= 0:
            return
        read, took = self._read
        if read > REMEMBERED_TOKENS:
            read, took = read / 2, took / 2
        self._read = (read + tokens, took + seconds)

    def seconds(self, tokens: int) -> float | None:
        """Return how long so many tokens would take; None while nothing is known about that."""
        read, took = self._read
        return tokens * took / read if read >= ENOUGH_TOKENS else None
