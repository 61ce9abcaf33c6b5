"""A screen over the app: set up when its parts stand."""

from __future__ import annotations

from textual.screen import ModalScreen, ScreenResultType


class Modal(ModalScreen[ScreenResultType]):
    """What every screen over the app is."""

    _was_set_up = False

    @property
    def stands(self) -> bool:
        """Whether its parts are there: not before they are mounted, nor while it closes or the program ends.

        What comes from a thread, a timer or another screen asks first.
        """
        return self._was_set_up and self._lives

    @property
    def _lives(self) -> bool:
        # One that closes is off the stack before its parts go.
        return self.app.is_running and self.is_attached and self in self.app.screen_stack

    def on_mount(self) -> None:
        """Set up, unless the program ends: its parts are not all mounted then, yet this is called."""
        if self._lives:
            self._was_set_up = True
            self.set_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keep keys from parts that are not there: the app runs some of them without asking the screen."""
        return super().check_action(action, parameters) if self.stands else False

    def set_up(self) -> None:
        """Do what needs the parts that were composed."""
