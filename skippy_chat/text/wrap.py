"""Breaking streamed text between words, where a terminal would break it anywhere.

Invariant: only spaces become line breaks, and none are made but between words or beside wide characters; the result is
the same however the text was split. Code between fences, and words too long to be moved, are left to the terminal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_PARTS = re.compile(r"\n|[ \t]+|[^\n\t ]+")
_FENCES = ("```", "~~~")
# A word is held back only where less room than this is left, so what streams shows at once. Longer words are mostly
# addresses, and those are copied whole only if the terminal itself broke them.
_MARGIN = 28
_TAB = 8


def cells(text: str) -> int:
    """Return how many terminal cells a text without line breaks takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, width: int | None) -> str:
    """Return a whole text broken between words at a width of cells; None leaves it as it is."""
    wrap = WordWrap(lambda: width)
    return wrap.feed(text) + wrap.flush()


class WordWrap:
    """Wraps a stream; holds back only the spaces and the unfinished word near the end of a line."""

    def __init__(self, width: Callable[[], int | None]) -> None:
        """``width`` is asked at the start of every line; None leaves that line as it is."""
        self._ask = width
        self._fenced = False
        self._width: int | None = None
        self._column = 0
        self._spaces = self._held = self._head = ""
        self._shown = False
        self._begin_line()

    def feed(self, text: str) -> str:
        """Return what is certain of the text so far."""
        return "".join(map(self._part, _PARTS.findall(text)))

    def flush(self) -> str:
        """Return what was held back; more may follow on the same line."""
        return self._word_ends() + self._spaces_end()

    def _part(self, part: str) -> str:
        if len(self._head) < len(_FENCES[0]):
            self._head += part.strip()[: len(_FENCES[0])]
        if part == "\n":
            out = self.flush() + part
            self._fenced ^= self._head.startswith(_FENCES)
            self._begin_line()
            return out
        if self._width is None or self._fenced:
            return part
        if part[0] in " \t":
            out = self._word_ends()
            self._spaces += part
            return out
        return self._word(part) if part.isascii() else "".join(map(self._character, part))

    def _character(self, character: str) -> str:
        if _cell(character) < 2:
            return self._word(character)
        # Scripts of wide characters have no spaces; a line may end between any two of them.
        return self._word_ends() + self._word(character, whole=True) + self._word_ends()

    def _word(self, piece: str, *, whole: bool = False) -> str:
        assert self._width is not None
        if not self._shown:
            self._held += piece
            room = self._width - self._column - self._gap()
            if whole or room < min(_MARGIN, self._width):
                return self._placed() if cells(self._held) > room else ""
            piece, self._held = self._held, ""
            self._shown = True
            return self._spaces_end() + self._put(piece)
        return self._put(piece)

    def _placed(self) -> str:
        """Return the held word, on a new line if it does not fit this one."""
        assert self._width is not None
        word, self._held = self._held, ""
        self._shown = True
        if self._column and self._column + self._gap() + cells(word) > self._width:
            self._spaces = ""
            self._column = 0
            return "\n" + self._put(word)
        return self._spaces_end() + self._put(word)

    def _word_ends(self) -> str:
        out = self._placed() if self._held else ""
        self._shown = False
        return out

    def _spaces_end(self) -> str:
        """Return the spaces, unless they would run over the end of the line."""
        out = self._spaces if self._width is None or self._column + self._gap() <= self._width else ""
        self._column += self._gap() if out else 0
        self._spaces = ""
        return out

    def _put(self, text: str) -> str:
        self._column += cells(text)
        if self._width and self._column > self._width:
            self._column = (self._column - 1) % self._width + 1
        return text

    def _gap(self) -> int:
        end = self._column
        for space in self._spaces:
            end = end + 1 if space == " " else (end // _TAB + 1) * _TAB
        return end - self._column

    def _begin_line(self) -> None:
        self._width = self._ask()
        self._column = 0
        self._spaces = self._held = self._head = ""
        self._shown = False
