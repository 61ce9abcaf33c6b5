"""A terminal's screen as an SVG: rows of text with their colours, about 10 KB, nothing to fetch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import groupby

import pyte
from pyte.screens import Char

_WIDTH, _HEIGHT, _MARGIN = 8.4, 18, 12
_SPACE = "\N{NO-BREAK SPACE}"  # browsers differ in whether they keep several plain ones
_FONTS = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
_PAPER, _INK = "#121212", "#e0e0e0"
_NAMED = {
    "black": "#1e1e1e",
    "red": "#d17e92",
    "green": "#8ad4a1",
    "brown": "#ffc473",
    "blue": "#57a5e2",
    "magenta": "#c792ea",
    "cyan": "#7fd1d8",
    "white": "#d0d0d0",
}


def drawn(screen: pyte.Screen, title: str, home: str) -> str:
    """Return the picture; ``title`` is what those hear who do not see it, ``home`` a path that is drawn as ~."""
    width = screen.columns * _WIDTH + 2 * _MARGIN
    height = screen.lines * _HEIGHT + 2 * _MARGIN
    papers = Counter(_look(cell)[1] for row in screen.buffer.values() for cell in row.values())
    paper = papers.most_common(1)[0][0] if papers else _PAPER
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{paper}"/>',
        f'<g font-family="{_FONTS}" font-size="14" fill="{_INK}">',
    ]
    for row in range(screen.lines):
        parts += sorted(_row(screen, row, home, paper), key=lambda part: part.startswith("<text"))
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _row(screen: pyte.Screen, row: int, home: str, ground: str) -> Iterator[str]:
    chars = [screen.buffer[row][column] for column in range(screen.columns)]
    if (at := "".join(each.data for each in chars).find(home)) >= 0:
        blank = chars[-1]._replace(data=" ")
        chars[at : at + len(home)] = [chars[at]._replace(data="~")]
        chars += [blank] * (screen.columns - len(chars))
    cells = list(enumerate(chars))
    top = _MARGIN + row * _HEIGHT
    for look, run in groupby(cells, key=lambda each: _look(each[1])):
        stretch = list(run)
        ink, paper, style = look
        left = _MARGIN + stretch[0][0] * _WIDTH
        if paper != ground:
            yield f'<rect x="{left:g}" y="{top}" width="{len(stretch) * _WIDTH:g}" height="{_HEIGHT}" fill="{paper}"/>'
        text = "".join(cell.data for _column, cell in stretch)
        if text.strip():
            at = len(text) - len(text.lstrip())
            text = text.strip()
            colour = f' fill="{ink}"' if ink != _INK else ""
            yield (
                f'<text x="{left + at * _WIDTH:g}" y="{top + 13}" textLength="{len(text) * _WIDTH:g}"{colour}{style}>'
                f"{escape(text.replace(' ', _SPACE))}</text>"
            )


def _look(cell: Char) -> tuple[str, str, str]:
    ink, paper = _colour(cell.fg, _INK), _colour(cell.bg, _PAPER)
    if cell.reverse:
        ink, paper = paper, ink
    style = ' font-weight="bold"' if cell.bold else ""
    style += ' font-style="italic"' if cell.italics else ""
    style += ' text-decoration="underline"' if cell.underscore else ""
    return ink, paper, style


def _colour(name: str, otherwise: str) -> str:
    if name == "default":
        return otherwise
    return _NAMED.get(name.removeprefix("bright"), f"#{name}" if len(name) == 6 else otherwise)
