"""The app's commands and keys, as Markdown."""

from __future__ import annotations

from typing import get_args

from skippy_chat.setting_table import Theme
from skippy_chat.tui.commands import keyboard


def keys_table() -> str:
    """Return a row for each action and command: its name, how it is typed, its keys, what it does."""
    lines = ["| name | command | key | does |", "|---|---|---|---|"]
    for each in keyboard({}).actions:
        typed = f"`{each.typed}`".replace("|", "\\|") if each.typed else ""
        lines.append(f"| `{each.name}` | {typed} | {each.shown} | {each.does} |")
    return "\n".join(lines)


def theme_list() -> str:
    """Return the names of the themes in a sentence."""
    names = [f"`{name}`" for name in get_args(Theme)]
    return f"{', '.join(names[:-1])} and {names[-1]}."
