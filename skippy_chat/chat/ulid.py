"""Ids that sort by the time they were made, also within one millisecond."""

from __future__ import annotations

from collections.abc import Callable

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U
_RANDOM_BITS = 80
LENGTH = 26


class UlidSource:
    """A source of ULIDs, each greater than the one before, whatever the clock does."""

    def __init__(self, now: Callable[[], int], entropy: Callable[[int], bytes]) -> None:
        """``now`` gives milliseconds since the epoch, ``entropy(n)`` gives ``n`` random bytes."""
        self._now = now
        self._entropy = entropy
        self._last = 0

    def __call__(self) -> str:
        """Return the next id."""
        fresh = (self._now() << _RANDOM_BITS) | int.from_bytes(self._entropy(_RANDOM_BITS // 8), "big")
        # A clock that stands still or goes back: count on from the last id instead.
        self._last = fresh if fresh >> _RANDOM_BITS > self._last >> _RANDOM_BITS else self._last + 1
        return encode(self._last)


def encode(value: int) -> str:
    """Write a 128-bit number in 26 characters."""
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(5 * (LENGTH - 1), -1, -5))
