"""Text to ids, piece by piece, as if the whole had been tokenised at once, except where content spells a special token.

Invariant: special-token text that is quoted, that is, came from content, never becomes that token; every other text
gives the ids that llama.cpp gives it in one call, apart from merges over the border of two pieces.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from skippy_chat.native.model import TokenFlag

_KEPT = 4096
_SPECIAL = TokenFlag.CONTROL | TokenFlag.UNKNOWN
_GUARDS = ("\ue000", "\uf8ff", "\U000f0000")
"""Characters that no vocabulary merges with others; whichever works is put before a fragment and taken off again."""

Span = tuple[int, int]
"""Half-open character offsets."""


class Vocabulary(Protocol):
    """What rendering needs of a model."""

    @property
    def adds_bos(self) -> bool:
        """Whether a prompt starts with the beginning-of-sequence token."""

    @property
    def bos(self) -> int:
        """The beginning-of-sequence token, or -1."""

    def tokenize(self, text: str, *, special: bool) -> array[int]:
        """Return the ids of ``text``."""

    def detokenize(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without that of control tokens."""

    def spell(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with that of control tokens."""

    def flags(self, token: int) -> TokenFlag:
        """Return what kind of token it is."""


class Tokeniser:
    """Tokenises for one vocabulary; remembers pieces, since a conversation repeats them every turn."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._pads = vocabulary.spell(vocabulary.tokenize("x", special=False)).startswith(" ")
        self._pieces: OrderedDict[tuple[object, ...], array[int]] = OrderedDict()
        self._spans: OrderedDict[tuple[str, str], tuple[Span, ...]] = OrderedDict()

    def opening(self, text: str) -> array[int]:
        """Return the ids that stand before a prompt with this text."""
        vocabulary = self._vocabulary
        if not vocabulary.adds_bos or vocabulary.bos < 0:
            return array("i")
        first = vocabulary.tokenize(text[:64], special=True)
        return array("i") if first and first[0] == vocabulary.bos else array("i", [vocabulary.bos])

    def ids(
        self, text: str, *, after: int | None, quoted: Sequence[Span] = (), seams: Sequence[int] = ()
    ) -> array[int]:
        """Return the ids of a piece.

        Args:
            text: the piece.
            after: the id before it, or None at the start.
            quoted: where content spells special tokens.
            seams: offsets where content ends; a special token spelt across one counts as quoted.
        """
        before = TokenFlag.NONE if after is None else self._vocabulary.flags(after)
        if before & TokenFlag.STRIPS_RIGHT:
            rest = text.lstrip(_ASCII_SPACE)
            gone, text = len(text) - len(rest), rest
            quoted = [(start - gone, stop - gone) for start, stop in quoted]
            seams = [seam - gone for seam in seams if seam > gone]
        follows = self._pads and after is not None and not before & _ANY_SPECIAL
        key = (text, follows, tuple(quoted), tuple(seams))
        known = self._pieces.get(key)
        if known is None:
            known = self._pieces[key] = self._tokenise(text, list(quoted), seams, follows=follows)
            if len(self._pieces) > _KEPT:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(key)
        return known

    def specials(self, text: str, *, markup: str = "") -> tuple[Span, ...]:
        """Return where ``text`` spells control tokens, or user-defined ones that stand in ``markup``.

        Some vocabularies have no control tokens for what their template writes, only user-defined ones; others have
        user-defined tokens for runs of spaces or for HTML, which are as good in content as any.
        """
        key = (text, markup)
        known = self._spans.get(key)
        if known is None:
            known = self._spans[key] = self._find_specials(text, markup)
            if len(self._spans) > _KEPT:
                self._spans.popitem(last=False)
        else:
            self._spans.move_to_end(key)
        return known

    def common_text(self, first: str, second: str) -> str:
        """Return as much of what both start with as is whole tokens of ``first``."""
        pairs = enumerate(zip(first, second, strict=False))
        shared = next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(first), len(second)))
        length = 0
        for token in self._vocabulary.tokenize(first, special=True):
            length += len(self._vocabulary.spell([token]))
            if length > shared:
                length -= len(self._vocabulary.spell([token]))
                break
        return first[:length]

    def _find_specials(self, text: str, markup: str) -> tuple[Span, ...]:
        words = self._words(text, markup)
        if not words:
            return ()
        return tuple(match.span() for match in re.finditer("|".join(map(re.escape, words)), text))

    def _words(self, text: str, markup: str) -> list[str]:
        """Return the special tokens' texts that llama.cpp finds in ``text``, longest first."""
        found: set[str] = set()
        for token in set(self._vocabulary.tokenize(text, special=True)):
            flags = self._vocabulary.flags(token)
            word = self._vocabulary.spell([token])
            written = len(word.strip()) > 1 and word in markup
            if flags & _SPECIAL or (flags & TokenFlag.USER_DEFINED and written):
                found.add(word)
        return sorted((word for word in found if word in text), key=lambda word: (-len(word), word))

    def _tokenise(self, text: str, quoted: list[Span], seams: Sequence[int], *, follows: bool) -> array[int]:
        words = self._words(text, "") if quoted or seams else []
        for seam in seams:
            for word in words:
                starts = range(max(seam - len(word) + 1, 0), seam)
                quoted += [(at, at + len(word)) for at in starts if text.startswith(word, at)]
        if not quoted:
            return self._fragment(text, follows=follows, special=True)
        ids = array("i")
        for fragment, special in self._fragments(text, quoted, words):
            ids.extend(self._fragment(fragment, follows=follows, special=special))
            follows = self._pads and not special
        return ids

    def _fragments(self, text: str, quoted: Sequence[Span], words: Sequence[str]) -> list[tuple[str, bool]]:
        """Part a text as llama.cpp does: longest special token first, the rest is raw; quoted ones are left raw."""
        taken: list[Span] = []
        for word in words:
            at = text.find(word)
            while at >= 0:
                stop = at + len(word)
                free = not any(at < b and a < stop for a, b in (*taken, *quoted))
                if free:
                    taken.append((at, stop))
                at = text.find(word, stop if free else at + 1)
        # llama.cpp looks for user-defined tokens in raw text too: quoted ones are cut in two.
        breaks = {start + 1 for start, stop in quoted if self._is_one_token(text[start:stop])}
        fragments: list[tuple[str, bool]] = []
        position = 0
        strips_before = False
        for start, stop in [*sorted(taken), (len(text), len(text))]:
            flags = self._flags_of(text[start:stop]) if stop > start else TokenFlag.NONE
            raw, rest = text[position:start], position
            if flags & TokenFlag.STRIPS_LEFT:
                raw = raw.rstrip(_ASCII_SPACE)
            if strips_before:
                rest += len(raw) - len(raw.lstrip(_ASCII_SPACE))
            end = position + len(raw)
            for border in [*sorted(b for b in breaks if rest < b < end), end]:
                if border > rest:
                    fragments.append((text[rest:border], False))
                rest = border
            if stop > start:
                fragments.append((text[start:stop], True))
            strips_before = bool(flags & TokenFlag.STRIPS_RIGHT)
            position = stop
        return fragments

    def _is_one_token(self, word: str) -> bool:
        ids = self._vocabulary.tokenize(word, special=False)
        return any(self._vocabulary.flags(token) & TokenFlag.USER_DEFINED for token in ids)

    def _flags_of(self, word: str) -> TokenFlag:
        ids = self._vocabulary.tokenize(word, special=True)
        return self._vocabulary.flags(ids[0]) if len(ids) == 1 else TokenFlag.NONE

    def _fragment(self, text: str, *, follows: bool, special: bool) -> array[int]:
        """Tokenise a fragment; one that ``follows`` text must not get the space that starts a text."""
        if follows and text:
            for guard in _GUARDS:
                known = self._vocabulary.tokenize(guard, special=False)
                ids = self._vocabulary.tokenize(guard + text, special=special)
                if ids[: len(known)] == known:
                    return ids[len(known) :]
        return self._vocabulary.tokenize(text, special=special)


_ANY_SPECIAL = _SPECIAL | TokenFlag.USER_DEFINED
_ASCII_SPACE = " \t\n\v\f\r"
