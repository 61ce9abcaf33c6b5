"""A text over the app, to be read and closed again: what the model may call, what the keys are."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from skippy_chat.tui.display import shown


class ReadingScreen(ModalScreen[None]):
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
                yield Static(Content(shown(self._text)), markup=False)
            yield Static(Content.styled("Esc closes", "dim"), markup=False)
