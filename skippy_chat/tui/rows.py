"""Lists to choose from, on however small a screen.

Textual's own list looks for the row that is highlighted among those that it laid out, and fails where a screen left it
no room for any. Invariant: a key in a list that has no room does nothing.
"""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.command import CommandList, CommandPalette
from textual.widgets import OptionList


class Rows(OptionList):
    """A list in which pages are turned only where there are some, and whose highlighted row stays in view."""

    def on_resize(self) -> None:
        """Keep the row in view that is highlighted: what is told below may have taken lines from the list."""
        self.scroll_to_highlight()

    def action_page_up(self) -> None:
        """Go a page up."""
        if has_room(self):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Go a page down."""
        if has_room(self):
            super().action_page_down()  # type: ignore[no-untyped-call]


class RoomyPalette(CommandPalette):
    """Textual's palette, whose list is held to the same; Ctrl-C closes it as any other screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+d", "escape", "Close", priority=True)]

    def _action_command_list(self, action: str) -> None:
        if has_room(self.query_one(CommandList)):
            super()._action_command_list(action)


def has_room(rows: OptionList) -> bool:
    """Tell whether a list was laid out."""
    return bool(rows._index_to_line)
