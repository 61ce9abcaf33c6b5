"""A text that grows: what is finished of it is parsed once, and only its last block again and again.

Invariant: the lines after ``feed`` are those of the whole text so far, save for the colours of code, which come with
``finish``: an open block stays plain.
"""

from __future__ import annotations

import re

from textual.content import Content

from skippy_chat.text.sanitise import Sanitiser
from skippy_chat.tui.display import settled
from skippy_chat.tui.flow import Line, Text
from skippy_chat.tui.markdown import split_lines

# A line that can only be the start of a paragraph, without anything that has a meaning within one.
_PLAIN = re.compile(r" {0,3}[A-Za-z][A-Za-z0-9 ,.;:?'\"()%/$-]*")


class GrowingMarkdown:
    """Feeds deltas through the sanitiser and tells from which line on the picture changed."""

    def __init__(self) -> None:
        self._clean = Sanitiser()
        self._tail = ""
        self._settled = 0

    def feed(self, piece: str) -> tuple[int, list[Line]]:
        """Take in more text; return the first line that may have changed, and the lines from there on."""
        return self._grow(self._clean.feed(piece))

    def finish(self) -> tuple[int, list[Line]]:
        """Take in what the sanitiser held back."""
        return self._grow(self._clean.flush())

    def _grow(self, clean: str) -> tuple[int, list[Line]]:
        self._tail += settled(clean)
        start = self._settled
        if _PLAIN.fullmatch(self._tail):
            return start, self._after([Text(Content(self._tail.strip(" ")))])
        done, cut, growing = split_lines(self._tail)
        source = self._tail.split("\n")
        if cut >= len(source) - 2 and source[cut - 1].strip():
            # The rest of its first line, or of the rule under a table's head, may yet make the last block a part of
            # the one above it: "1", "#", then "#1"; "1", "|1", "|-", then "|-1".
            between: list[Line] = [Text(Content(""))] if done and growing else []
            return start, self._after([*done, *between, *growing])
        done = self._after(done)
        if cut:
            self._tail = "\n".join(source[cut:])
            self._settled += len(done)
        return start, done + self._after(growing)

    def _after(self, lines: list[Line]) -> list[Line]:
        """Put the empty line between blocks that parsing them apart left out."""
        gap: list[Line] = [Text(Content(""))] if self._settled and lines else []
        return gap + lines


class GrowingPlain:
    """The same for text that is no Markdown; only its last line ever changes."""

    def __init__(self, style: str, indent: Content) -> None:
        self._clean = Sanitiser()
        self._style = style
        self._indent = indent
        self._last = ""
        self._done = 0

    def feed(self, piece: str) -> tuple[int, list[Line]]:
        """Take in more text; return the first line that may have changed, and the lines from there on."""
        start = self._done
        lines = (self._last + settled(self._clean.feed(piece))).split("\n")
        self._last = lines[-1]
        self._done += len(lines) - 1
        return start, [Text(Content.styled(line, self._style), self._indent, self._indent) for line in lines]
