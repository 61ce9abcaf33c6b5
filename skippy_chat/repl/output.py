"""A running tool's output as lines, bounded: the first ones as they come, the last ones at its end.

Invariant: however much a tool writes, a bounded part is shown and held, and what is left out is counted.
"""

from __future__ import annotations

from collections import deque

from skippy_chat.text.sanitise import Sanitiser
from skippy_chat.wording import plural

_FIRST = 8
_LAST = 4
_LONGEST = 2000  # characters of one line that are held


class OutputLines:
    """Splits one call's raw output into clean lines; a carriage return begins its line again, as on a terminal."""

    def __init__(self) -> None:
        self._clean = Sanitiser(strip_format=True)
        self._line = ""
        self._returned = False
        self._shown = 0
        self._last: deque[str] = deque(maxlen=_LAST)
        self._total = 0

    def feed(self, text: str) -> list[str]:
        """Return the lines that are complete now and among the first."""
        found: list[str] = []
        for number, piece in enumerate(text.split("\n")):
            if number:
                self._returned = False
                found += self._ended()
            for again, part in enumerate(piece.split("\r")):
                if again:
                    self._returned = True
                if part:
                    self._add(part)
        return found

    @property
    def newest(self) -> str:
        """The line being written, or the last one, once the first lines are over; empty before that."""
        if self._total < _FIRST:
            return self._line
        return self._line or (self._last[-1] if self._last else "")

    @property
    def left_out(self) -> int:
        """How many lines were neither among the first nor are among the last."""
        return self._total - self._shown - len(self._last)

    def finish(self) -> list[str]:
        """Return the rest: what was left out, and the last lines."""
        self._add_clean(self._clean.flush())
        found = self._ended() if self._line else []
        if self.left_out:
            found.append(f"… {plural(self.left_out, 'line')} not shown …")
        return [*found, *self._last]

    def _add(self, part: str) -> None:
        if self._returned:
            self._line, self._returned = "", False
        self._add_clean(self._clean.feed(part))

    def _add_clean(self, text: str) -> None:
        self._line += text[: _LONGEST - len(self._line)]

    def _ended(self) -> list[str]:
        self._add_clean(self._clean.feed("\n").rstrip("\n"))
        line, self._line = self._line, ""
        self._total += 1
        if self._shown < _FIRST:
            self._shown += 1
            return [line]
        self._last.append(line)
        return []
