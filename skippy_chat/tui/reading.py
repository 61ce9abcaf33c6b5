"""A text over the app, to be read and closed again: what the model may call, what the keys are."""

from __future__ import annotations

import re
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from skippy_chat.tui.display import shown
from skippy_chat.tui.flow import Text
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.prose import Prose

# What stands before a gap of two spaces or more, near the left, is a column of its own; so is an indent.
_COLUMN = re.compile(r"(?:.{1,30} {2,}(?=\S)| +)")


class ReadingScreen(Modal[None]):
    """Shows a text that may be foreign; Esc, q, Enter and Ctrl-C close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,ctrl+c,ctrl+d", "dismiss", "Close", priority=True),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._heading = title
        self._text = text

    def compose(self) -> ComposeResult:
        """Lay out title, text and keys."""
        with Vertical(id="reading"):
            yield Static(Content.styled(shown(self._heading), "bold"), markup=False)
            with VerticalScroll(id="reading-text"):
                yield Static(_Columns(shown(self._text)), markup=False)
            yield Static(Content.styled("Esc closes", "dim"), markup=False)


class _Columns(Prose):
    """A text whose lines, where they are too long, go on below their last column."""

    def __init__(self, text: str) -> None:
        super().__init__([_line(each) for each in text.split("\n")])
        self._text = text

    def __str__(self) -> str:
        return self._text


def _line(text: str) -> Text:
    found = _COLUMN.match(text)
    column = Content(found[0] if found else "")
    return Text(Content(text[len(column.plain) :]), column, Content(" " * column.cell_length))
