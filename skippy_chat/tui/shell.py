"""What the person's settings make of a Textual app: its theme and its keys; for the app that fills it.

Invariant: a theme that is chosen counts at once, with NO_COLOR as without; no key has a meaning over a screen that asks
something, but for those of that screen.
"""

from __future__ import annotations

from textual.app import App
from textual.binding import BindingsMap
from textual.filter import Monochrome, NoColor
from textual.screen import ModalScreen

from skippy_chat.tui import themes
from skippy_chat.tui.keys import Keyboard

_BEHIND_SCREENS = frozenset({"command", "regenerate", "details", "follow"})


class Shell(App[int]):
    """An app in the person's theme and with the person's keys."""

    ENABLE_COMMAND_PALETTE = False  # ours is a command like any other

    def __init__(self, theme: str, keyboard: Keyboard) -> None:
        """``theme`` is one of ``themes.NAMES``."""
        super().__init__()
        for each in themes.OWN:
            self.register_theme(each)
        # Greys are colours, too: with NO_COLOR the terminal's own two are all there is.
        self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]
        self.keyboard = keyboard
        self.rebind(keyboard)
        self.theme_name = ""
        self.wear(theme)

    def rebind(self, keyboard: Keyboard) -> None:
        """Give actions and commands their keys."""
        self.keyboard = keyboard
        self._bindings = BindingsMap(keyboard.bindings)

    def wear(self, name: str) -> None:
        """Change the theme; with NO_COLOR one that uses no colour but the terminal's stands for it."""
        self.theme_name = name
        dark = self.available_themes[name].dark
        self.theme = ("ansi-dark" if dark else "ansi-light") if self.no_color else name

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keep keys from what lies behind a screen that asks something."""
        if action in _BEHIND_SCREENS and isinstance(self.screen, ModalScreen):
            return False
        return super().check_action(action, parameters)
