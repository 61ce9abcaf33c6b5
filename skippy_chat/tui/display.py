"""The app's display boundary: every foreign text passes here on its way to a widget.

Invariant: what comes out has no control character but newline, and only newlines break lines, so that line numbers
mean the same to the parser, the renderer and the selection.
"""

from __future__ import annotations

from skippy_chat.agent.approvals.showing import show
from skippy_chat.text.sanitise import sanitise

TAB = 4
BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n"})


def shown(text: str) -> str:
    """Return foreign text as the app may show it: sanitised, tabs as spaces, line and paragraph separators as newlines.

    VT, FF and NEL go with the other control characters; CR LF is one line break already.
    """
    return settled(sanitise(text))


def settled(clean: str) -> str:
    """Return text that a ``Sanitiser`` has cleaned, with its tabs and separators as ``shown`` leaves them."""
    clean = clean if clean.isascii() else clean.translate(BREAKS)
    return clean.expandtabs(TAB) if "\t" in clean else clean


def complete(text: str) -> str:
    """Return text that was made safe for a question; where something in it would not show, that is written out."""
    return settled(text if sanitise(text, strip_format=True) == text else show(text))


def one_line(text: str, limit: int) -> str:
    """Return foreign text on one line of at most ``limit`` characters."""
    line = " ".join(shown(text[: 8 * limit]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def visible(text: str) -> str:
    """Return foreign text as ``shown`` does, without what changes its direction or does not show."""
    return settled(sanitise(text, strip_format=True))


def visible_line(text: str, limit: int) -> str:
    """Return foreign text as ``one_line`` does, without what changes its direction or does not show."""
    return one_line(sanitise(text[: 8 * limit], strip_format=True), limit)
