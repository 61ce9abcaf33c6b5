"""Where a text names files by ``@path``: what is a mention, and what only looks like one.

An ``@`` begins a mention at the start of the text, behind white space or behind an opening bracket, so an address as
a@b.c is none. ``@"a name.md"`` names what white space, quotes, commas and the like would end. A backslash before it,
and a block of code around it, keep it text.

Invariant: pure functions; whether there is such a file is not asked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_START = r"(?:^|(?<=[\s(\[{]))"
_BARE = r"[^\s\"'`<>,;@\\][^\s\"'`<>,;]*"
_MENTION = re.compile(rf'{_START}(\\?)@(?:"([^"\n]+)"|({_BARE}))')
_TYPED = re.compile(rf'{_START}@(?:"([^"\n]*)|((?:{_BARE})?))$')
_AFTER = frozenset(".:!?)]}*_")  # what may follow a name in a sentence
_MOST_AFTER = 8
_LINE = 1024  # characters before the cursor in which a mention that is being typed begins
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PLAIN = re.compile(_BARE)


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention at ``[start, end)``, with the paths it may mean, the longest first.

    Behind an unquoted path the end of a sentence may stand. ``escaped``: a backslash at ``start`` keeps it text.
    """

    start: int
    end: int
    paths: tuple[str, ...]
    escaped: bool


@dataclass(frozen=True, slots=True)
class Partial:
    """A mention that is being typed: from ``start`` on, with ``path`` so far."""

    start: int
    path: str


def mentions(text: str) -> Iterator[Mention]:
    """Yield what may be mentions in a text, in order; blocks of code have none."""
    for start, end in _prose(text):
        for found in _MENTION.finditer(text, start, end):
            if found[2] is not None:
                paths: tuple[str, ...] = (found[2],)
            else:
                paths = tuple(_readings(found[3]))
            yield Mention(found.start(), found.end(), paths, bool(found[1]))


def partial(text: str, cursor: int) -> Partial | None:
    """Return the mention that is being typed at ``cursor``, if one is."""
    line = text.rfind("\n", 0, cursor) + 1
    found = _TYPED.search(text, max(line, cursor - _LINE), cursor)
    if found is None or not any(start <= line < end for start, end in _prose(f"{text[:cursor]} ")):
        return None
    return Partial(found.start(), found[2] if found[1] is None else found[1])


def written(path: str) -> str:
    """Return a mention of ``path`` as it is typed."""
    plain = _PLAIN.fullmatch(path) is not None and path[-1] not in _AFTER
    return f"@{path}" if plain else f'@"{path}"'


def can_be_written(path: str) -> bool:
    """Tell whether a mention can mean ``path``: not where a quote or a line break is in it."""
    return '"' not in path and path.isprintable()


def _readings(path: str) -> Iterator[str]:
    yield path
    for _ in range(_MOST_AFTER):
        if len(path) < 2 or path[-1] not in _AFTER:
            return
        path = path[:-1]
        yield path


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches outside of fenced code."""
    fence, start, at = "", 0, 0
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found is not None and not fence:
            fence = found[1]
            yield start, at
        elif found is not None and fence and found[1].startswith(fence) and not line[found.end() :].strip():
            fence = ""
            start = at + len(line)
        at += len(line)
    if not fence:
        yield start, at
