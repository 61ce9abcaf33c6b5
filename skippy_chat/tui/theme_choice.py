"""Choosing a theme: by its name, or from a list in which each can be looked at before it is taken.

Invariant: a theme that is taken holds at once and is kept in the person's own file; one that is only looked at is not.
"""

from __future__ import annotations

import difflib
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.errors import SkippyError
from skippy_chat.tui import themes
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.rows import Rows
from skippy_chat.tui.shell import Shell

_WIDTH = max(len(name) for name in themes.NAMES) + 2
_SAMPLE = (
    "A message, ",
    ("a note", "dim"),
    ", ",
    ("ready", "$text-success"),
    ", ",
    ("asking", "$text-warning"),
    ", ",
    ("failed", "$text-error"),
    ", ",
    ("code", "$text-accent"),
    " and ",
    ("links", "$text-primary"),
    ".",
)


class ThemeScreen(Modal[str]):
    """Shows the app in the theme that is highlighted; Enter returns it, Esc goes back to the one before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+d", "leave", "Close", priority=True),
    ]

    def __init__(self, shell: Shell) -> None:
        super().__init__()
        self._shell = shell
        self._before = shell.theme_name

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical(classes="choosing"):
            yield Static(Content.styled("Theme", "bold"))
            options = [
                Option(Content.assemble(f"{name:<{_WIDTH}}", (themes.told(name), "dim")))
                for name in themes.NAMES
            ]
            yield Rows(*options, markup=False)
            yield Static(Content.assemble(*_SAMPLE))
            yield Static(Content.styled("Enter takes it · Esc goes back", "dim"))

    def set_up(self) -> None:
        """Begin at the theme that is worn."""
        self.query_one(OptionList).highlighted = themes.NAMES.index(self._before)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show what it looks like."""
        event.stop()
        if self.stands:  # it may come behind the key that leaves
            self._shell.wear(themes.NAMES[event.option_index])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take it."""
        event.stop()
        self.dismiss(themes.NAMES[event.option_index])

    def action_leave(self) -> None:
        """Go back."""
        self._shell.wear(self._before)
        self.dismiss()


def choose_theme(parts: Parts, name: str) -> None:
    """Wear a theme from now on, and keep it."""
    assert isinstance(parts.app, Shell)
    parts.app.wear(name)
    preferences = parts.services.preferences

    def keep() -> None:
        told = ""
        try:
            preferences.keep("theme", name)
            now = preferences.settings({})
            if now.theme != name:
                told = (
                    f"The theme holds until you leave: {now.sources.get('theme', '')} goes before the file."
                )
        except SkippyError as error:
            told = f"The theme holds until you leave: {error}"
        if told:
            parts.app.call_from_thread(parts.bar.change, hint=told)

    parts.bar.change(hint=f"Theme: {name}.")
    parts.app.run_worker(keep, thread=True, exit_on_error=True)


def _theme(parts: Parts, argument: str) -> bool:
    name = argument.lower()
    if name in themes.NAMES:
        choose_theme(parts, name)
    elif name:
        close = difflib.get_close_matches(name, themes.NAMES, n=1)
        hint = f"Did you mean {close[0]}?" if close else "/theme shows them."
        parts.bar.change(hint=f"There is no theme of that name. {hint}")
        return False
    else:
        assert isinstance(parts.app, Shell)

        def take(chosen: str | None) -> None:
            if chosen:
                choose_theme(parts, chosen)

        parts.app.push_screen(ThemeScreen(parts.app), take)
    return True


def _keys(parts: Parts, _argument: str) -> None:
    assert isinstance(parts.app, Shell)
    told = "Give others by the names below, in the table [keys] of your config.toml or in /settings:"
    parts.show("Keys", "\n".join([told, 'regenerate = "f5"', "", parts.app.keyboard.listed]))


THEME = Feature(
    (
        AppCommand("theme", "choose the colours", _theme, usage="[NAME]", words=themes.NAMES),
        AppCommand("keys", "what each key does, and what it is called in your settings", _keys),
    )
)
