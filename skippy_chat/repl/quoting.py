"""Foreign text set apart from the program's own words: every row of it has a mark in front.

Invariant: nothing is left out, and no row can pass for one of the program's, however the text pads its lines.
"""

from __future__ import annotations

import unicodedata

from skippy_chat.agent.approvals.showing import show
from skippy_chat.text.sanitise import sanitise
from skippy_chat.text.wrap import cells

_NARROWEST = 8
_TAB = 8


def complete(text: str) -> str:
    """Return a text that was made safe to show; where something in it would not show, that is written out."""
    return text if sanitise(text, strip_format=True) == text else show(text)


def quoted(text: str, width: int | None, *, mark: str, more: str) -> list[str]:
    """Return a text's rows: ``mark`` stands before each line, ``more`` before the rows that go on with a long one.

    ``width`` is that of the terminal in cells; None: a line is one row, however long.
    """
    room = None if width is None else max(_NARROWEST, width - max(len(mark), len(more)) - 1)
    rows = []
    for line in text.split("\n"):
        first, *rest = _rows(line, room)
        rows += [f"{mark}{first}", *(f"{more}{each}" for each in rest)]
    return rows


def fitted(text: str, room: int) -> str:
    """Return a line cut to ``room`` cells, with … where something is left out."""
    if _width(text) <= room:
        return text
    first = _rows(text, max(1, room - 1))[0]
    return f"{first}…" if _width(first) < room else "…"


def _rows(line: str, room: int | None) -> list[str]:
    if room is None or _width(line) <= room:
        return [line]
    rows, row, used = [], "", 0
    for each in line:
        wide = _TAB if each == "\t" else cells(each)
        if used + wide > room and row and not unicodedata.combining(each):
            rows.append(row)
            row, used = "", 0
        row += each
        used += wide
    return [*rows, row]


def _width(line: str) -> int:
    return cells(line) + (_TAB - 1) * line.count("\t")
