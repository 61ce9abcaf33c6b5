"""A line that is always one row: what it is about on the left, cut where it must be, and how it stands on the right."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import set_cell_size
from textual.content import Content

from skippy_chat.tui.flow import READABLE, Line, Piece

_GAP = 2
_LEAST = 12  # cells that the left side keeps before the right one gives way


@dataclass(frozen=True, slots=True)
class Headline:
    """``mark`` is drawn before the text and is no part of it; ``tail`` stands at the right edge."""

    content: Content
    mark: Content
    tail: Content

    @property
    def plain(self) -> str:
        """Text and tail."""
        return f"{self.content.plain} · {self.tail.plain}" if self.tail.plain else self.content.plain

    def wrap(self, width: int) -> list[list[Piece]]:
        """Return the one row; the tail goes first where there is no room for both, and stays near where there is."""
        width = min(width, READABLE)
        mark = self.mark if width > self.mark.cell_length else Content("")
        room = max(1, width - mark.cell_length)
        tail = self.tail
        if tail.plain and room - tail.cell_length - _GAP < min(_LEAST, self.content.cell_length):
            tail = Content("")
        room_left = room - (tail.cell_length + _GAP if tail.plain else 0)
        content = self.content
        if content.cell_length > room_left:
            content = _cut(content, room_left)
        pieces = [Piece(mark)] if mark.plain else []
        pieces.append(Piece(content, 0))
        if tail.plain:
            pieces += [Piece(Content(" " * (room - content.cell_length - tail.cell_length))), Piece(tail)]
        return [pieces]

    def same(self, other: Line) -> bool:
        """Compare texts and styles."""
        return (
            isinstance(other, Headline)
            and self.content.is_same(other.content)
            and self.mark.is_same(other.mark)
            and self.tail.is_same(other.tail)
        )


def _cut(content: Content, width: int) -> Content:
    """Return as much of the content as fits ``width`` cells with the sign that it goes on."""
    kept = set_cell_size(content.plain, max(0, width - 1)).rstrip(" ")
    return content[: _common(kept, content.plain)] + Content.styled("…", "dim")


def _common(start: str, text: str) -> int:
    """Return how long ``start`` and ``text`` agree: a character that was cut in half became a space."""
    return next((at for at, (a, b) in enumerate(zip(start, text, strict=False)) if a != b), len(start))
