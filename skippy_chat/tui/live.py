"""What a running tool says: its last lines, however much it says.

Invariant: what is kept is bounded, and safe to show; a carriage return begins a new line, as a progress bar means it.
"""

from __future__ import annotations

from collections import deque

from skippy_chat.text.sanitise import Sanitiser
from skippy_chat.tui.display import BREAKS, TAB

_LINES = 200
_AT_ONCE = 64 * 1024  # characters of one piece that are looked at: nobody reads faster
_LONGEST = 2000


class LiveOutput:
    """The end of a stream of raw text; ``count`` is how many lines there were."""

    def __init__(self) -> None:
        self._clean = Sanitiser(strip_format=True)
        self._lines: deque[str] = deque([""], maxlen=_LINES)
        self._returned = False
        self.count = 0

    def feed(self, piece: str) -> None:
        """Take in more output."""
        if not piece:
            return
        if len(piece) > _AT_ONCE:
            self.count += piece.count("\n", 0, len(piece) - _AT_ONCE)
            piece = piece[-_AT_ONCE:]
            self._clean = Sanitiser(strip_format=True)
        if self._returned and piece.startswith("\n"):
            piece = piece[1:]
        self._returned = piece.endswith("\r")
        text = self._clean.feed(piece.replace("\r\n", "\n").replace("\r", "\n"))
        first, *rest = text.translate(BREAKS).split("\n")
        self._lines[-1] = (self._lines[-1] + first)[:_LONGEST]
        for line in rest:
            self._lines.append(line[:_LONGEST])
        self.count += len(rest)

    def last(self, most: int) -> list[str]:
        """Return the last lines, at most ``most``; an empty one that has not begun yet is none."""
        lines = list(self._lines)
        if lines and not lines[-1]:
            lines.pop()
        return [line.expandtabs(TAB) for line in lines[-most:]]
