"""A message's lines as one visual: wrapped once per width, painted once per style, selectable as their source.

One widget for a whole message is what keeps hundreds of them cheap, and cached strips are what keeps a growing one
cheap: text that streams in costs as much as the lines it changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rich.segment import Segment
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from skippy_chat.text.folding import Folded
from skippy_chat.tui.flow import Line, Piece

_Mark: TypeAlias = "tuple[int, int, Style | str]"
_FOUND = "bold underline"
_LOOKED_AT = "bold reverse"


class _Painted:
    """A line with what was worked out for the width and the look it was last shown in."""

    __slots__ = ("folded", "found", "line", "look", "sought", "strips", "width", "wrapped")

    def __init__(self, line: Line) -> None:
        self.line = line
        self.width = -1
        self.wrapped: list[list[Piece]] = []
        self.look: object = None
        self.strips: list[Strip] = []
        self.folded: Folded | None = None
        self.sought = ""
        self.found: Sequence[tuple[int, int]] = ()

    def where(self, sought: str) -> Sequence[tuple[int, int]]:
        """Return where folded words stand in the line."""
        if sought != self.sought:
            self.folded = self.folded or Folded(self.line.plain)
            self.sought, self.found = sought, self.folded.spans(sought)
        return self.found

    def at(self, width: int) -> list[list[Piece]]:
        if width != self.width:
            self.wrapped = self.line.wrap(width)
            self.width = width
            self.look = None
            self.strips = []
        return self.wrapped

    def take_over(self, old: _Painted) -> int:
        """Keep the strips of the first rows that are as they were in ``old``; return how many."""
        if old.width <= 0:
            return 0
        rows = 0
        for new, before in zip(self.at(old.width), old.wrapped, strict=False):
            if not _same_row(new, before):
                break
            rows += 1
        self.look, self.strips = old.look, old.strips[:rows]
        return rows


def _same_row(new: Sequence[Piece], old: Sequence[Piece]) -> bool:
    return len(new) == len(old) and all(
        mine.offset == theirs.offset and mine.content.is_same(theirs.content)
        for mine, theirs in zip(new, old, strict=True)
    )


class Prose(Visual):
    """Lines that may be replaced from any index on; what stays the same keeps its strips."""

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self._lines = [_Painted(line) for line in lines]
        # At which row each of the first lines ends, as far as that was asked for: nothing is summed twice.
        self._ends: list[int] = []
        self._ends_at = 0
        self.palette = ""
        self.sought = ""
        """Folded words that are marked wherever they stand."""
        self.at: tuple[int, int] | None = None
        """The line, and where in it, of the place that is looked at."""

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def plain(self) -> str:
        """The text that a selection takes its part of."""
        return "\n".join(each.line.plain for each in self._lines)

    def replace(self, start: int, lines: Sequence[Line]) -> tuple[int, int]:
        """Put ``lines`` in place of all lines from ``start`` on.

        Returns:
            The first line that does not look as it did, and how many of its rows do.
        """
        old = self._lines[start:]
        new: list[_Painted] = []
        same, rows = 0, 0
        for index, line in enumerate(lines):
            kept = old[index] if index < len(old) and old[index].line.same(line) else None
            same += kept is not None and same == index
            new.append(kept or _Painted(line))
        if same < min(len(old), len(new)):
            rows = new[same].take_over(old[same])
        self._lines[start:] = new
        del self._ends[start + same :]
        return start + same, rows

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002 - the protocol's
        """Return the container's width: prose fills it."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002 - the protocol's
        """Return the number of screen lines at a width of cells."""
        return self.height(width)

    def height(self, width: int, end: int | None = None) -> int:
        """Return how many screen lines the lines before ``end`` take at a width of cells; 0 without a width."""
        if width <= 0:
            return 0
        if width != self._ends_at:
            self._ends, self._ends_at = [], width
        count = len(self._lines) if end is None else end
        for each in self._lines[len(self._ends) : count]:
            self._ends.append((self._ends[-1] if self._ends else 0) + len(each.at(width)))
        return self._ends[count - 1] if count else 0

    def places(self, sought: str) -> list[tuple[int, int]]:
        """Return the lines in which folded words stand, and where in them, in their order."""
        return [(number, start) for number, each in enumerate(self._lines) for start, _ in each.where(sought)]

    def row(self, width: int, line: int, start: int) -> int:
        """Return the row in which a character of a line stands, at a width of cells."""
        row = 0
        for number, pieces in enumerate(self._lines[line].at(width)):
            if any(piece.offset is not None and piece.offset <= start for piece in pieces):
                row = number
        return self.height(width, line) + row

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Return the screen lines, with the selection drawn in and offsets for the mouse."""
        strips: list[Strip] = []
        if width <= 0:
            return strips
        for number, each in enumerate(self._lines):
            wrapped = each.at(width)
            looked_at = self.at[1] if self.at is not None and self.at[0] == number else None
            look = (style, self.palette, self.sought, looked_at)
            marks: list[_Mark] = [
                (start, end, _LOOKED_AT if start == looked_at else _FOUND)
                for start, end in (each.where(self.sought) if self.sought else ())
            ]
            span = None if options.selection is None else options.selection.get_span(number)
            if span is not None and options.selection_style is not None:
                end = len(each.line.plain) if span[1] == -1 else span[1]
                marks.append((span[0], end, options.selection_style))
                strips += [_strip(pieces, number, style, options, marks) for pieces in wrapped]
                continue
            kept = each.strips if each.look == look else []
            if len(kept) < len(wrapped):
                rest = wrapped[len(kept) :]
                each.strips = [*kept, *(_strip(pieces, number, style, options, marks) for pieces in rest)]
                each.look = look
            strips += each.strips
        return strips if height is None else strips[:height]


def _strip(
    pieces: Sequence[Piece],
    number: int,
    style: Style,
    options: RenderOptions,
    marks: Sequence[_Mark],
) -> Strip:
    segments = []
    cells = 0
    for piece in pieces:
        content = piece.content
        if piece.offset is not None:
            at = piece.offset
            for start, end, mark in marks:
                if start - at < len(content.plain) and end > at:
                    content = content.stylize(mark, max(0, start - at), end - at)
        offset = piece.offset
        for text, look in content.render(style, end="", parse_style=options.get_style):
            whole = style + look
            rich = whole.rich_style if offset is None else whole.rich_style_with_offset(offset, number)
            segments.append(Segment(text, rich))
            offset = None if offset is None else offset + len(text)
        cells += content.cell_length
    return Strip(segments, cells)
