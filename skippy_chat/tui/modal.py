"""A screen over the app: set up when its parts stand."""

from __future__ import annotations

from textual.screen import ModalScreen, ScreenResultType


class Modal(ModalScreen[ScreenResultType]):
    """What every screen over the app is."""

    _was_set_up = False

    @property
    def stands(self) -> bool:
        """Whether its parts are there: not before they are mounted, nor while the program ends."""
        return self._was_set_up and self._lives

    @property
    def _lives(self) -> bool:
        return self.app.is_running and self.is_attached

    def on_mount(self) -> None:
        """Set up, unless the program ends: its parts are not all mounted then, yet this is called."""
        if self._lives:
            self._was_set_up = True
            self.set_up()

    def set_up(self) -> None:
        """Do what needs the parts that were composed."""
