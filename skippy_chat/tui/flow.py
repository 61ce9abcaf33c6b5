"""Logical lines and how they fill a width: hanging indents, folded code, table rows that shrink.

Everything here is a value or a pure function of a width, so a line that did not change is never wrapped twice.
Invariant: ``plain`` is what a selection copies. Marks and indents are drawn beside it and are no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.cells import cell_len
from textual.content import Content

_GAP = "  "
_NARROWEST = 4
READABLE = 110  # longer lines of prose are hard to read; code and tables take what there is


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one screen line; ``offset`` is where it begins in the logical line, None for marks and gaps."""

    content: Content
    offset: int | None = None


class Line(Protocol):
    """One logical line of a message."""

    @property
    def plain(self) -> str:
        """What a selection copies."""

    def wrap(self, width: int) -> list[list[Piece]]:
        """Return the screen lines at a width of cells, each as pieces from left to right."""

    def same(self, other: Line) -> bool:
        """Tell whether the other line looks the same at every width."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text with a mark before its first screen line and an indent before the others.

    ``folded`` breaks anywhere and keeps every space, as code needs.
    """

    content: Content
    mark: Content = field(default_factory=lambda: Content(""))
    indent: Content = field(default_factory=lambda: Content(""))
    folded: bool = False

    @property
    def plain(self) -> str:
        """The text alone."""
        return self.content.plain

    def wrap(self, width: int) -> list[list[Piece]]:
        """Return the screen lines; a mark that leaves no room for text is left out."""
        mark, indent = self.mark, self.indent
        if width - max(mark.cell_length, indent.cell_length) < _NARROWEST:
            mark = indent = Content("")
        room = max(1, width - max(mark.cell_length, indent.cell_length))
        room = room if self.folded else min(room, READABLE)
        lines: list[list[Piece]] = []
        for offset, content in _divided(self.content, room, folded=self.folded):
            before = indent if lines else mark
            pieces = [Piece(before)] if before.plain else []
            lines.append([*pieces, Piece(content, offset)])
        return lines

    def same(self, other: Line) -> bool:
        """Compare text, styles and marks."""
        return (
            isinstance(other, Text)
            and self.folded == other.folded
            and self.content.is_same(other.content)
            and self.mark.is_same(other.mark)
            and self.indent.is_same(other.indent)
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A table's row: ``widths`` are the natural widths of its columns, in cells; ``rule`` draws a line under it."""

    cells: tuple[Content, ...]
    widths: tuple[int, ...]
    rule: bool = False
    indent: Content = field(default_factory=lambda: Content(""))

    @property
    def plain(self) -> str:
        """The cells, a gap between them."""
        return _GAP.join(cell.plain for cell in self.cells)

    def wrap(self, width: int) -> list[list[Piece]]:
        """Return the screen lines; columns shrink, the widest first, until the row fits."""
        room = width - self.indent.cell_length - len(_GAP) * (len(self.widths) - 1)
        widths = shrunk(self.widths, room)
        columns = []
        start = 0
        for cell, column in zip(self.cells, widths, strict=False):
            parts = _divided(cell, column, folded=False)
            columns.append([Piece(content, start + offset) for offset, content in parts])
            start += len(cell.plain) + len(_GAP)
        lines: list[list[Piece]] = []
        for number in range(max((len(column) for column in columns), default=1)):
            pieces = [Piece(self.indent)] if self.indent.plain else []
            for parts_of, size in zip(columns, widths, strict=False):
                piece = parts_of[number] if number < len(parts_of) else Piece(Content(""))
                pieces += [piece, Piece(Content(" " * (size - piece.content.cell_length) + _GAP))]
            lines.append(pieces[:-1])
        if self.rule:
            under = _GAP.join("─" * size for size in widths)
            lines.append([Piece(self.indent), Piece(Content.styled(under, "dim"))])
        return lines

    def same(self, other: Line) -> bool:
        """Compare cells, widths and the rule."""
        return (
            isinstance(other, Row)
            and (self.widths, self.rule) == (other.widths, other.rule)
            and len(self.cells) == len(other.cells)
            and self.indent.is_same(other.indent)
            and all(ours.is_same(theirs) for ours, theirs in zip(self.cells, other.cells, strict=True))
        )


def shrunk(widths: Sequence[int], room: int) -> tuple[int, ...]:
    """Return column widths that fit into ``room`` cells as far as each keeps one: the widest give way first."""
    over = sum(widths) - room
    if over <= 0:
        return tuple(widths)
    lowest, highest = 1, max(widths)
    while lowest < highest:  # the largest cap under which all fit
        cap = (lowest + highest + 1) // 2
        if sum(min(width, cap) for width in widths) <= room:
            lowest = cap
        else:
            highest = cap - 1
    return tuple(max(1, min(width, lowest)) for width in widths)


def breaks(text: str, width: int, *, folded: bool) -> list[int]:
    """Return the offsets at which ``text`` goes on in a new screen line of ``width`` cells.

    Words stay whole where they fit a line; the spaces after a word belong to it and may hang over the edge.
    """
    if cell_len(text) <= width:
        return []
    offsets: list[int] = []
    start = at = 0
    used = 0
    while at < len(text):
        end = at + 1 if folded else _word_end(text, at)
        word = text[at:end]
        size = cell_len(word if folded else word.rstrip(" "))
        if used + size > width and at > start:
            offsets.append(at)
            start, used = at, 0
        if size > width and not folded:
            cut = _fitting(text, at, width)
            if cut < end:
                offsets.append(cut)
                start = at = cut
                used = 0
                continue
        used += cell_len(word)
        at = end
    return offsets


def _divided(content: Content, width: int, *, folded: bool) -> list[tuple[int, Content]]:
    offsets = breaks(content.plain, width, folded=folded)
    if not offsets:
        return [(0, content)]
    parts = content.divide(offsets)
    return [
        (offset, part if folded else part.rstrip(" "))
        for offset, part in zip([0, *offsets], parts, strict=True)
    ]


def _word_end(text: str, at: int) -> int:
    end = at
    while end < len(text) and text[end] != " ":
        end += 1
    while end < len(text) and text[end] == " ":
        end += 1
    return end


def _fitting(text: str, at: int, width: int) -> int:
    """Return where the characters from ``at`` on fill ``width`` cells; at least one is taken."""
    end, used = at, 0
    while end < len(text):
        used += cell_len(text[end])
        if used > width and end > at:
            break
        end += 1
    return end
