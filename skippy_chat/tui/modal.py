"""A screen over the app: set up when its parts stand."""

from __future__ import annotations

from textual.screen import ModalScreen, ScreenResultType


class Modal(ModalScreen[ScreenResultType]):
    """What every screen over the app is."""

    def on_mount(self) -> None:
        """Set up, unless the program ends: its parts are not all mounted then, yet this is called."""
        if self.app.is_running and self.is_attached:
            self.set_up()

    def set_up(self) -> None:
        """Do what needs the parts that were composed."""
