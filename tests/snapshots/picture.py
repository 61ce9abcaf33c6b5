"""What is on the app's screen, as text that can be compared and read in a diff.

Each row stands between bars; under it, where it does not look like most of the screen, which columns look how. A style
is written out where it is, so that a new colour changes the rows that have it and no others.

Invariant: the same screen gives the same text: nothing of it depends on time, place or order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.color import Color
from rich.style import Style
from textual._context import visible_screen_stack
from textual.app import App
from textual.strip import Strip

_ATTRIBUTES = ("bold", "dim", "italic", "underline", "strike", "reverse")


def picture(app: App[Any]) -> str:
    """Return what the app shows, with what shines through from behind a dialog."""
    visible_screen_stack.set(list(app._background_screens))
    strips = app.screen._compositor.render_strips(app.size)
    ground = _ground(strips)
    size = f"{app.size.width}x{app.size.height}"
    lines = [f"{size}, most of it {_colours(*ground) or 'in the colours of the terminal'}"]
    for strip in strips:
        lines.append(f"|{strip.text}|")
        runs = "; ".join(_runs(strip, ground))
        if runs:
            lines.append(f"   {runs}")
    return "\n".join(lines) + "\n"


def _ground(strips: Sequence[Strip]) -> tuple[str, str]:
    """Return the colour that most letters have, and the one behind most cells."""
    letters: Counter[str] = Counter()
    behind: Counter[str] = Counter()
    for segment in (each for strip in strips for each in strip):
        colour, back = _pair(segment.style)
        behind[back] += segment.cell_length
        letters[colour] += len(segment.text.replace(" ", ""))
    return letters.most_common(1)[0][0], behind.most_common(1)[0][0]


def _runs(strip: Strip, ground: tuple[str, str]) -> Iterator[str]:
    """Tell of each stretch of cells that looks other than the ground: its columns, and how."""
    at = 0
    looks = [
        (_look(segment.style, ground, blank=not segment.text.strip()), segment.cell_length)
        for segment in strip
    ]
    for look, run in groupby(looks, key=lambda each: each[0]):
        end = at + sum(cells for _look, cells in run)
        if look:
            yield f"{at}-{end} {look}"
        at = end


def _look(style: Style | None, ground: tuple[str, str], *, blank: bool) -> str:
    """Tell how cells look; the colour of letters does not count where there are none."""
    colour, behind = _pair(style)
    visible = [each for each in _ATTRIBUTES if style is not None and getattr(style, each)]
    if blank and not {"underline", "strike", "reverse"} & set(visible):
        colour, visible = ground[0], []
    parts = _colours(colour if colour != ground[0] else "", behind if behind != ground[1] else "")
    return " ".join([*visible, *([parts] if parts else [])])


def _colours(colour: str, behind: str) -> str:
    return f"{colour} on {behind}".strip() if behind else colour


def _pair(style: Style | None) -> tuple[str, str]:
    return ("", "") if style is None else (_name(style.color), _name(style.bgcolor))


def _name(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return ""
    return colour.get_truecolor().hex if colour.triplet is not None else colour.name
