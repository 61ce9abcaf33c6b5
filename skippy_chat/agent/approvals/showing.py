"""Foreign text as a person must see it before saying yes: complete, with everything invisible written out.

Control characters, bidirectional and other format characters, odd spaces, piles of combining marks and half characters
show as ⟪U+202E⟫; long padding, which pushes text out of sight, as ⟪300 spaces⟫.

Invariant: nothing is left out, and two different texts never look alike (``⟪`` itself is written out).
"""

from __future__ import annotations

import re
import unicodedata

_OPEN, _CLOSE = "⟪", "⟫"
_MOST_SPACES = 8  # in a run that shows as it is; indentation shows at any length up to the next
_MOST_INDENT = 40
_MOST_NEWLINES = 3
_MOST_MARKS = 3
# Letters and symbols that show as nothing.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\u17b4\u17b5\u034f")
_SAFE = re.compile(r"[ -~]+")
_PADDING = re.compile(r"(?m:^ +)| {2,}|\n{2,}|\t{2,}| +(?=\n|\Z)")


def show(text: str) -> str:
    """Return ``text`` for an approval: printable characters, newlines and tabs only."""
    pieces = []
    at = 0
    for match in _PADDING.finditer(text):
        pieces += [_characters(text[at : match.start()]), _padding(match, text)]
        at = match.end()
    pieces.append(_characters(text[at:]))
    return "".join(pieces)


def _padding(match: re.Match[str], text: str) -> str:
    run = match[0]
    if run[0] == "\n":
        return run if len(run) <= _MOST_NEWLINES else f"\n{_OPEN}{len(run) - 2} newlines{_CLOSE}\n"
    if run[0] == "\t":
        return run if len(run) <= _MOST_SPACES else f"{_OPEN}{len(run)} tabs{_CLOSE}"
    at_start = match.start() == 0 or text[match.start() - 1] == "\n"
    at_end = match.end() == len(text) or text[match.end()] == "\n"
    most = 0 if at_end else _MOST_INDENT if at_start else _MOST_SPACES
    if len(run) <= most:
        return run
    return f"{_OPEN}{len(run)} {'space' if len(run) == 1 else 'spaces'}{_CLOSE}"


def _characters(text: str) -> str:
    if _SAFE.fullmatch(text):
        return text
    shown = []
    marks = 0
    for each in text:
        marks = marks + 1 if unicodedata.combining(each) else 0
        hidden = _is_hidden(each) or marks > _MOST_MARKS
        shown.append(f"{_OPEN}U+{ord(each):04X}{_CLOSE}" if hidden else each)
    return "".join(shown)


def _is_hidden(each: str) -> bool:
    if each in "\n\t" or " " <= each <= "~":
        return False
    if each in (_OPEN, _CLOSE) or each in _BLANK:
        return True
    if 0xFE00 <= ord(each) <= 0xFE0F or 0xE0100 <= ord(each) <= 0xE01EF:  # variation selectors
        return True
    category = unicodedata.category(each)
    return category[0] in "CZ"
