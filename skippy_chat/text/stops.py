"""Stop strings in streamed text.

Invariant: the text let through is the same however it was split, no part of a stop that matched is ever shown, and
nothing is held back but what may still become a stop.
"""

from __future__ import annotations

from collections.abc import Iterable


class StopMatcher:
    """Lets text through up to the stop that is complete first (of those that end together, the longest).

    ``matched`` is that stop, or None. After a match all text is dropped.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        """Empty stops are ignored."""
        self._stops = tuple(sorted({stop for stop in stops if stop}, key=len, reverse=True))
        self._held = ""
        self.matched: str | None = None

    def feed(self, text: str) -> str:
        """Return the text that is certain not to be part of a stop."""
        if self.matched is not None:
            return ""
        text = self._held + text
        # Longest first: the first of equals wins.
        ends = [(at + len(stop), stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if ends:
            end, self.matched = min(ends, key=lambda each: each[0])
            self._held = ""
            return text[: end - len(self.matched)]
        keep = len(text) - self._unfinished(text)
        self._held = text[keep:]
        return text[:keep]

    def flush(self) -> str:
        """Return what was held back: the text has ended, so it is no stop. Feed what the decoder flushes before."""
        rest, self._held = self._held, ""
        return rest

    def _unfinished(self, text: str) -> int:
        """Return the length of the longest end of ``text`` that is a proper beginning of a stop."""
        longest = 0
        for stop in self._stops:
            for size in range(min(len(stop) - 1, len(text)), longest, -1):
                if text.endswith(stop[:size]):
                    longest = size
                    break
        return longest
