"""The checkpoint tree on the screen: one line for each row, a cursor, and columns that give way where it is narrow.

Invariant: only the rows in view are ever painted or laid out, so that a tree of thousands costs what a screen does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message as Posted
from textual.scroll_view import ScrollView
from textual.strip import Strip

from skippy_chat.tui.cache_rows import TreeRow

_GAP = "  "


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    width: int
    text: Callable[[TreeRow], str]


_POSITION = _Column("token", 7, lambda row: f"{row.position:,}")
_SIZE = _Column("size", 8, lambda row: row.size)
_PLACE = _Column("in", 6, lambda row: row.place)
_COST = _Column("an edit reads", 16, lambda row: row.cost)
# The columns beside the message, for so many cells at least.
_LAYOUTS: tuple[tuple[int, tuple[_Column, ...]], ...] = (
    (70, (_SIZE, _PLACE, _COST)),
    (50, (_SIZE, _PLACE)),
    (0, ()),
)


class CheckpointTreeView(ScrollView, can_focus=True):
    """Shows rows; Enter and a click on the row that has the cursor choose it."""

    DEFAULT_CSS = """
    CheckpointTreeView {
        height: 1fr;
        background: $background;
        scrollbar-size-vertical: 1;
        scrollbar-color: $panel;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        overflow-x: hidden;
    }
    CheckpointTreeView > .tree--heading { color: $foreground 60%; text-style: underline; }
    CheckpointTreeView > .tree--guides { color: $foreground 50%; }
    CheckpointTreeView > .tree--now { color: $text-success; }
    CheckpointTreeView > .tree--other { color: $foreground 70%; }
    CheckpointTreeView > .tree--words { color: $foreground; }
    CheckpointTreeView > .tree--detail { color: $foreground 60%; }
    CheckpointTreeView > .tree--cost { color: $text-warning; }
    CheckpointTreeView > .tree--cursor { text-style: reverse; }
    CheckpointTreeView:ansi > .tree--heading { color: ansi_default; }
    CheckpointTreeView:ansi > .tree--guides { color: ansi_bright_black; }
    CheckpointTreeView:ansi > .tree--now { color: ansi_green; }
    CheckpointTreeView:ansi > .tree--other { color: ansi_default; }
    CheckpointTreeView:ansi > .tree--words { color: ansi_default; }
    CheckpointTreeView:ansi > .tree--detail { color: ansi_bright_black; }
    CheckpointTreeView:ansi > .tree--cost { color: ansi_yellow; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree--heading",
        "tree--guides",
        "tree--now",
        "tree--other",
        "tree--words",
        "tree--detail",
        "tree--cost",
        "tree--cursor",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up"),
        Binding("down,j", "move(1)", "Down"),
        Binding("pageup", "page(-1)", "Page up"),
        Binding("pagedown,space", "page(1)", "Page down"),
        Binding("home", "edge(0)", "First"),
        Binding("end", "edge(-1)", "Last"),
        Binding("enter", "choose", "To the message"),
    ]

    @dataclass
    class Moved(Posted):
        """The cursor stands on another row, or on other rows."""

    @dataclass
    class Chosen(Posted):
        """The person wants to go to what this row stands for."""

        row: TreeRow

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._rows: Sequence[TreeRow] = ()
        self._at = 0

    @property
    def row(self) -> TreeRow | None:
        """The row that has the cursor."""
        return self._rows[self._at] if self._rows else None

    @property
    def _width(self) -> int:
        """Cells beside the scrollbar."""
        return self.scrollable_content_region.width

    def put(self, rows: Sequence[TreeRow], at: int) -> None:
        """Show other rows, the cursor on one of them."""
        self._rows = rows
        self._at = max(0, min(at, len(rows) - 1))
        self.virtual_size = Size(0, 1 + len(rows))
        self._reveal()
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self._go(self._at + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by what fits on the screen."""
        self._go(self._at + step * max(1, self.size.height - 2))

    def action_edge(self, index: int) -> None:
        """Move the cursor to the first (0) or the last row (-1)."""
        self._go(index % max(1, len(self._rows)))

    def action_choose(self) -> None:
        """Choose the row that has the cursor."""
        if self.row is not None:
            self.post_message(self.Chosen(self.row))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; where it was already, choose the row."""
        index = event.y + round(self.scroll_y) - 1
        if event.y < 1 or not 0 <= index < len(self._rows):
            return
        if index == self._at:
            self.action_choose()
        self._go(index)

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._reveal()

    def render_line(self, y: int) -> Strip:
        """Return one line; the first is the columns' titles, whatever is in view."""
        width = self._width
        if y == 0:
            return self._painted([(self._titles(width), "tree--heading")], width)
        index = y - 1 + round(self.scroll_y)
        if index >= len(self._rows):
            return Strip.blank(width, self._look(""))
        row = self._rows[index]
        strip = self._painted(self._pieces(row, width), width)
        return strip.apply_style(self._look("tree--cursor")) if index == self._at else strip

    def _titles(self, width: int) -> str:
        beside, room = _layout(width)
        text = f"{_POSITION.title:>{_POSITION.width}}{_GAP}{set_cell_size('message', room)}"
        return text + "".join(f"{_GAP}{column.title:>{column.width}}" for column in beside)

    def _pieces(self, row: TreeRow, width: int) -> list[tuple[str, str]]:
        beside, room = _layout(width)
        told = "tree--words" if row.main else "tree--detail"
        mark = "● " if row.now else "○ "
        words = f"{row.name}: {row.gist}" if row.main and row.gist else f"{row.name} · {row.gist}"
        left = max(0, room - len(row.guides) - len(mark))
        pieces = [
            (f"{_POSITION.text(row):>{_POSITION.width}}{_GAP}", told),
            (row.guides[:room], "tree--guides"),
            (mark, "tree--now" if row.now else "tree--other"),
            (_fitted(words.rstrip(" ·"), left), told if row.now or not row.main else "tree--other"),
        ]
        for column in beside:
            look = "tree--cost" if column is _COST else told
            pieces.append((f"{_GAP}{column.text(row):>{column.width}}", look))
        return pieces

    def _painted(self, pieces: Sequence[tuple[str, str]], width: int) -> Strip:
        segments = [Segment(text, self._look(name)) for text, name in pieces]
        return Strip(segments).adjust_cell_length(width, self._look("")).simplify()

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(name) if name else self.rich_style

    def _go(self, index: int) -> None:
        index = max(0, min(index, len(self._rows) - 1))
        if index != self._at and self._rows:
            before, self._at = self._at, index
            self._reveal()
            for each in (before, index):
                self.refresh(Region(0, 1 + each - round(self.scroll_y), self._width, 1))
            self.post_message(self.Moved())

    def _reveal(self) -> None:
        """Scroll as little as shows the cursor; the titles' line hides what is under it."""
        shown = max(1, self.size.height - 1)
        top = round(self.scroll_y)
        if self._at < top:
            self.scroll_to(y=self._at, animate=False, immediate=True)
        elif self._at >= top + shown:
            self.scroll_to(y=self._at - shown + 1, animate=False, immediate=True)


def _layout(width: int) -> tuple[tuple[_Column, ...], int]:
    """Return the columns beside the message, and how many cells are left for that."""
    beside = next(columns for least, columns in _LAYOUTS if width >= least)
    taken = _POSITION.width + sum(len(_GAP) + column.width for column in beside)
    return beside, max(1, width - taken - len(_GAP))


def _fitted(text: str, cells: int) -> str:
    """Return text in exactly so many cells, with a sign where it is cut."""
    fitted = set_cell_size(text, cells)
    return fitted if not cells or fitted.rstrip() == text.rstrip() else f"{set_cell_size(text, cells - 1)}…"
