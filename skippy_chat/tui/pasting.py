"""Pastes as the terminal sends them: cleaned before Textual reads them, so that none of a paste is taken for keys.

Textual looks for keys behind every escape character, in a paste too; a pasted text with one in it could press Enter.
Terminals mostly take such characters out of pastes, but not all do.

Invariant: what is not in a paste passes as it came, and at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.message import Message

from skippy_chat.text.sanitise import sanitise


class PasteFilter:
    """Passes a terminal's input on; a paste is passed on, clean, when all of it is there."""

    def __init__(self) -> None:
        self._before = ""  # the last characters outside a paste: one may begin within them
        self._paste: str | None = None

    def feed(self, data: str) -> str:
        """Return what may be read of the input so far."""
        passed: list[str] = []
        while data:
            data = self._outside(data, passed) if self._paste is None else self._inside(data, passed)
        return "".join(passed)

    def _outside(self, data: str, passed: list[str]) -> str:
        seen = self._before + data
        at = seen.find(BRACKETED_PASTE_START)
        if at < 0:
            passed.append(data)
            self._before = seen[1 - len(BRACKETED_PASTE_START) :]
            return ""
        end = at + len(BRACKETED_PASTE_START) - len(self._before)
        passed.append(data[:end])
        self._before, self._paste = "", ""
        return data[end:]

    def _inside(self, data: str, passed: list[str]) -> str:
        assert self._paste is not None
        text, end, rest = (self._paste + data).partition(BRACKETED_PASTE_END)
        if not end:
            self._paste = text
            return ""
        self._paste = None
        passed.append(sanitise(text.replace("\r\n", "\n").replace("\r", "\n")) + end)
        return rest


class CleanPastes(XTermParser):
    """Textual's parser behind a ``PasteFilter``."""

    def __init__(self, debug: bool = False) -> None:  # noqa: FBT001 - textual's signature
        super().__init__(debug)
        self._filter = PasteFilter()

    def feed(self, data: str) -> Iterable[Message]:
        """Read more input; an empty text is its end."""
        clean = self._filter.feed(data)
        return super().feed(clean) if clean or not data else ()


def install() -> None:
    """Let apps that are started from now on read pastes so; Textual has no place of its own to say it."""
    setattr(linux_driver, "XTermParser", CleanPastes)  # noqa: B010 - its name is imported there, not declared
