"""The command palette: every command and key with its meaning, this folder's sessions, and the themes.

Invariant: what is chosen here does what the command, typed, would do; a command that wants a word is put into the box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from skippy_chat.tui import themes
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.keys import Action
from skippy_chat.tui.shell import Shell
from skippy_chat.tui.theme_choice import choose_theme


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the palette: what it is called, what it does, and how that is done. ``at_first``: shown unasked.

    Its texts are as they are to be shown: foreign ones went through ``display`` before.
    """

    name: str
    does: str
    run: Callable[[], object]
    at_first: bool = True


def palette_of(entries: Callable[[], Sequence[Entry]]) -> CommandPalette:
    """Return a palette of these entries, which are asked for when it opens."""

    class Entries(Provider):
        """Finds entries by what they are called and what they do."""

        async def startup(self) -> None:
            self._entries = entries()

        async def discover(self) -> Hits:
            for each in self._entries:
                if each.at_first:
                    yield DiscoveryHit(
                        Content(each.name), each.run, text=each.name, help=Content(each.does).markup or None
                    )

        async def search(self, query: str) -> Hits:
            matcher = self.matcher(query)
            for each in self._entries:
                # What it does counts too, but what it is called goes first.
                score = max(matcher.match(each.name), matcher.match(each.does) * 0.5)
                if score > 0:
                    shown = matcher.highlight(each.name)
                    yield Hit(score, shown, each.run, text=each.name, help=Content(each.does).markup or None)

    return CommandPalette([Entries], placeholder="Search commands, sessions, themes…")


def _show(parts: Parts, _argument: str) -> None:
    parts.app.push_screen(palette_of(lambda: _entries(parts)))


def _entries(parts: Parts) -> list[Entry]:
    app = parts.app
    assert isinstance(app, Shell)
    actions = [
        Entry(_named(each), _sentence(each.does) if each.typed else "", _runner(parts, each))
        for each in app.keyboard.actions
        if each.name != "palette"
    ]
    worn = [
        Entry(f"Theme: {name}", themes.told(name), partial(choose_theme, parts, name), at_first=False)
        for name in themes.NAMES
    ]
    return [*actions, Entry("Take a screenshot", "As an SVG file", app.action_screenshot), *worn]


def _named(action: Action) -> str:
    name = action.typed or _sentence(action.does)
    return f"{name}   {action.shown}" if action.shown else name


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _runner(parts: Parts, action: Action) -> Callable[[], object]:
    wanted = action.typed.partition(" ")[2]
    if wanted and not wanted.startswith("["):
        return lambda: parts.composer.put(f"/{action.name} ")
    return lambda: parts.app.run_action(action.action)


PALETTE = Feature(
    (AppCommand("palette", "find a command, a session or a theme", _show, key="ctrl+p"),),
)
