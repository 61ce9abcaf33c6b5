"""Themes: two of our own, the terminal's own colours, and Textual's; and what NO_COLOR makes of each.

Invariant: with NO_COLOR no colour is sent at all, whichever theme is chosen, and what a colour would show is
underlined, bold or reversed instead.
"""

from __future__ import annotations

from typing import get_args

from textual.theme import Theme

from skippy_chat.setting_table import Theme as Name

NAMES: tuple[str, ...] = get_args(Name)

DARK = Theme(
    name="dark",
    primary="#7aa8ff",
    secondary="#5fc9c1",
    accent="#d9a6ff",
    warning="#f0b95c",
    error="#ff7b86",
    success="#7fce8d",
    foreground="#e4e6eb",
    background="#14161b",
    surface="#1c1f26",
    panel="#3a4050",
    dark=True,
    variables={"block-cursor-background": "#2c4677", "block-cursor-foreground": "#ffffff"},
)
LIGHT = Theme(
    name="light",
    primary="#1d4fb8",
    secondary="#0b6a66",
    accent="#7a2fa8",
    warning="#8a5200",
    error="#b3202f",
    success="#1e6b33",
    foreground="#1b1d22",
    background="#fbfbf9",
    surface="#f0f0ec",
    panel="#c9cbd0",
    dark=False,
    variables={"block-cursor-background": "#cbd9f7", "block-cursor-foreground": "#14161b"},
)
OWN = (DARK, LIGHT)


def told(name: str) -> str:
    """Return what to say about a theme in a list."""
    return {
        "dark": "our own, dark",
        "light": "our own, light",
        "ansi-dark": "the terminal's own colours, on a dark ground",
        "ansi-light": "the terminal's own colours, on a light ground",
    }.get(name, "")
