"""The command palette: every command and key with its meaning, this folder's sessions, and the themes.

Invariant: what is chosen here does what the command, typed, would do; a command that wants a word is put into the box.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Matcher, Provider
from textual.content import Content

from skippy_chat.chat.session_rows import Overview
from skippy_chat.errors import SkippyError
from skippy_chat.tui import themes
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.display import one_line, visible_line
from skippy_chat.tui.keys import Action
from skippy_chat.tui.rows import RoomyPalette
from skippy_chat.tui.sessions import Choice, age
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
            # Sessions are read from the disk, and keys go on being answered meanwhile. Each of them ends the search
            # before it, and what that waits for; the reading goes on.
            self._reading = asyncio.create_task(asyncio.to_thread(entries))

        async def discover(self) -> Hits:
            for each in await asyncio.shield(self._reading):
                if each.at_first:
                    yield DiscoveryHit(
                        Content(each.name), each.run, text=each.name, help=Content(each.does).markup or None
                    )

        async def search(self, query: str) -> Hits:
            matcher = self.matcher(query)
            for each in await asyncio.shield(self._reading):
                # What it does counts too, but what it is called goes first.
                score = max(matcher.match(each.name), matcher.match(each.does) * 0.5)
                if score > 0:
                    yield Hit(
                        score,
                        _highlighted(matcher, each.name),
                        each.run,
                        text=each.name,
                        help=Content(each.does).markup or None,
                    )

    return RoomyPalette([Entries], placeholder="Search commands, sessions, themes…")


def _highlighted(matcher: Matcher, name: str) -> Content:
    """Mark what matches; the matcher's own way would take brackets in a name for markup."""
    content = Content(name)
    score, offsets = matcher.fuzzy_search.match(matcher.query, name)
    for offset in offsets if score else ():
        if not name[offset].isspace():
            content = content.stylize(matcher.match_style, offset, offset + 1)
    return content


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
    return [
        *actions,
        *_sessions(parts),
        Entry("Take a screenshot", "As an SVG file", app.action_screenshot),
        *worn,
    ]


def _sessions(parts: Parts) -> list[Entry]:
    try:
        found = parts.services.shelf.found("")
    except SkippyError:  # the picker tells what is wrong with it
        return []
    now = parts.services.now_ms()
    return [
        Entry(
            f"Session: {visible_line(_title(each.overview), 90)}",
            one_line(f"{age(now - each.overview.session.updated)} · {each.overview.session.model}", 120),
            partial(_open, parts, each.overview.session.id),
            at_first=False,
        )
        for each in found
        if each.overview.session.id != parts.turns.session_id
    ]


def _title(overview: Overview) -> str:
    session = overview.session
    return session.title or session.made_title or overview.opening or session.id


def _open(parts: Parts, session: str) -> None:
    if parts.turns.busy:
        parts.bar.change(hint="Not now: stop the answer first (Esc).")
    elif parts.opening.busy:
        parts.bar.change(hint="Not yet.")
    else:
        parts.opening.begin(Choice(session))


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
