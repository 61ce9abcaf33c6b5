"""Where in a text something like a wanted piece is: models copy with other spaces, or a word of their own."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

_MOST_LINES = 20_000
# Comparing letters takes time that grows with the square of them.
_MOST_COMPARED = 1_000
_LONGEST = 120
_LIKENESS = 0.5


def lines_like(text: str, wanted: str) -> tuple[range, bool] | None:
    """Return which lines, from 1, are like ``wanted``, and whether only spaces differ; None where no lines are.

    Lines that are the same but for spaces are found in long texts too, others in short ones only.
    """
    lines = text.removesuffix("\n").split("\n", _MOST_LINES)
    piece = _without_edges(wanted.split("\n"))
    if not piece or len(lines) > _MOST_LINES:
        return None
    at = _same_but_spaces([_squeezed(line) for line in lines], [_squeezed(line) for line in piece])
    if at is not None:
        return range(at + 1, at + 1 + len(piece)), True
    at = _closest(lines, piece)
    return None if at is None else (range(at + 1, at + 1 + len(piece)), False)


def _without_edges(lines: list[str]) -> list[str]:
    """Drop empty lines at both ends."""
    told = [number for number, line in enumerate(lines) if line.strip()]
    return lines[told[0] : told[-1] + 1] if told else []


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _same_but_spaces(lines: Sequence[str], piece: Sequence[str]) -> int | None:
    """Return where the piece begins; its first line may be the end of one, and its last the beginning."""
    if len(piece) == 1:
        return next((at for at, line in enumerate(lines) if piece[0] in line), None)
    for at in range(len(lines) - len(piece) + 1):
        if (
            lines[at].endswith(piece[0])
            and lines[at + len(piece) - 1].startswith(piece[-1])
            and lines[at + 1 : at + len(piece) - 1] == piece[1:-1]
        ):
            return at
    return None


def _closest(lines: Sequence[str], piece: Sequence[str]) -> int | None:
    """Return where the lines closest to the piece begin, if they are close."""
    if len(lines) > _MOST_COMPARED or max(map(len, piece)) > _LONGEST:
        return None
    places = {line.strip(): at for at, line in reversed(list(enumerate(lines))) if len(line) <= _LONGEST}
    first = get_close_matches(piece[0].strip(), places, 1, _LIKENESS)
    if not first:
        return None
    at = places[first[0]]
    if at + len(piece) > len(lines):
        return None
    pairs = zip(lines[at:], piece, strict=False)
    alike = [SequenceMatcher(None, line[:_LONGEST].strip(), other.strip()).ratio() for line, other in pairs]
    return at if sum(alike) >= _LIKENESS * len(alike) else None
