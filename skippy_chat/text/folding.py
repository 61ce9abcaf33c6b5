"""Texts compared as people look for them: without regard to case, accents, forms of letters, and kinds of space.

Invariant: ``fold`` and ``Folded`` agree, so what is counted in one place is found in the other.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Accents that stand on letters; signs that belong to a script (vowels, viramas) stay.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u00ad\u200b-\u200d]"
)
_SPACE = re.compile(r"\s")


def fold(text: str) -> str:
    """Return a text as it is compared; every kind of white space is one space, none is left out."""
    if text.isascii():
        return _SPACE.sub(" ", text.lower())
    return _SPACE.sub(" ", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))


class Folded:
    """A folded text that knows where its characters come from; ``text`` is what ``fold`` gives."""

    def __init__(self, source: str) -> None:
        self.text = fold(source)
        self._length = len(source)
        self._from: list[int] | None = None
        if len(self.text) != self._length or not source.isascii():
            pieces = [_folded(each) for each in source]
            self._from = [at for at, piece in enumerate(pieces) for _ in piece]
            self.text = "".join(pieces)

    def spans(self, wanted: str) -> list[tuple[int, int]]:
        """Return where a folded text stands, as half-open ranges of the source, accents behind a letter included."""
        found = []
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            found.append((self._source(at), max(self._source(end - 1) + 1, self._source(end))))
            at = self.text.find(wanted, end)
        return found

    def _source(self, at: int) -> int:
        if self._from is None:
            return at
        return self._from[at] if at < len(self._from) else self._length


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    return fold(character)
