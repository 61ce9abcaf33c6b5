"""Every command of the app and the REPL, and every key, from the tables that the program itself goes by.

Invariant: a place with keys of its own that is not named here stops the writing of the page.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping

from textual.binding import Binding

from skippy_chat import tui
from skippy_chat.key_names import shown_key
from skippy_chat.repl.commands import COMMANDS
from skippy_chat.tui import commands
from skippy_chat.tui.keys import FIXED

PLACES: Mapping[str, str] = {
    "Composer": "in the box",
    "MessageView": "on a message",
    "QuestionScroll": "on a question about a call",
    "Reason": "in the reason for a no",
    "FindBar": "while finding",
    "SessionPicker": "in the list of sessions",
    "CheckpointTreeView": "in the cache view",
    "CacheScreen": "in the cache view",
    "RoomScreen": "where the context is full",
    "TypedSearch": "searching what was typed",
    "SettingsScreen": "in the settings",
    "ThemeScreen": "choosing a theme",
    "ModelScreen": "choosing a model",
    "RoomyPalette": "in the palette",
    "CodePicker": "choosing a block of code",
    "BranchPicker": "in the list of branches",
    "ReadingScreen": "in a page of text",
}


def command_table() -> str:
    """Return every slash command, where it is, its key in the app, and what it does."""
    keys = commands.keyboard({})
    of_app = {each.name: each for each in commands.table().values()}
    rows: dict[str, tuple[str, str, str, str]] = {}
    for name, command in of_app.items():
        there = "yes" if name in COMMANDS else ""
        rows[name] = (command.shown, _keys(keys.of(name)) or "yes", there, command.does)
    for name, other in COMMANDS.items():
        rows.setdefault(name, (other.usage, "", "yes", other.does[0].lower() + other.does[1:].rstrip(".")))
    lines = [
        f"| `{_cell(typed)}` | {app} | {repl} | {_cell(does)} |"
        for typed, app, repl, does in (rows[name] for name in sorted(rows))
    ]
    return "\n".join(["| command | app | REPL | does |", "|---|---|---|---|", *lines])


def place_table() -> str:
    """Return the keys of each place."""
    lines = [f"| anywhere | {_bound(each)} | {each.description} |" for each in FIXED if each.key not in "ftu"]
    lines += [f"| read-only | {_bound(each)} | {each.description} |" for each in FIXED if each.key in "ftu"]
    found = dict(_places())
    if unknown := found.keys() - PLACES.keys():
        sys.exit(f"Say in scripts/reference/key_page.py where these are: {', '.join(sorted(unknown))}.")
    for name in sorted(found, key=list(PLACES).index):
        lines += [f"| {PLACES[name]} | {_bound(each)} | {each.description} |" for each in found[name]]
    return "\n".join(["| where | key | does |", "|---|---|---|", *lines])


def _places() -> Iterator[tuple[str, list[Binding]]]:
    for module in pkgutil.iter_modules(tui.__path__, f"{tui.__name__}."):
        for name, kind in vars(importlib.import_module(module.name)).items():
            if not isinstance(kind, type) or kind.__module__ != module.name:
                continue
            bound = [each for each in vars(kind).get("BINDINGS", ()) if isinstance(each, Binding)]
            if bound and bound[0] not in FIXED:
                yield name, bound


def _bound(binding: Binding) -> str:
    return _keys(", ".join(each if len(each) == 1 else shown_key(each) for each in binding.key.split(",")))


def _keys(shown: str) -> str:
    return ", ".join(f"`{each}`" for each in shown.split(", ") if each)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
