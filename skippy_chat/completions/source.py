"""What to offer for the text that is being typed: the names of commands and prompts, and files behind an ``@``.

Invariant: an offer says which part of the text it replaces, and never stands for more than completes a name: taking one
sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skippy_chat.completions.mentions import partial, written

_WORD = re.compile(r"/([^\s/]*)")
_CHOICE = re.compile(r"/(\S+)[ \t]+(\S*)")


@dataclass(frozen=True, slots=True)
class Offered:
    """A command or prompt: ``name`` without its slash, ``usage`` shows its arguments, ``does`` what it does.

    ``words`` are what its first argument may be, where there is a choice.
    """

    name: str
    does: str
    usage: str = ""
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """A way to go on: ``text`` replaces what ``Offers`` says, ``shown`` names it, ``about`` explains it; untrusted."""

    text: str
    shown: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """Offers, best first, for ``[start, end)`` of the text."""

    start: int
    end: int
    offers: tuple[Offer, ...]


def wants_offers(text: str, cursor: int) -> bool:
    """Tell, without looking at anything, whether there may be offers: on each key, in a face's own thread."""
    if text.startswith("/") and (_typed_word(text, cursor) is not None or _CHOICE.fullmatch(text[:cursor])):
        return True
    return partial(text, cursor) is not None


def offers(
    text: str, cursor: int, commands: Sequence[Offered], files: Callable[[str], Sequence[str]]
) -> Offers | None:
    """Return what fits at ``cursor`` (an offset in ``text``), or None.

    ``files`` gives paths for what is typed of one; it may take a while.
    """
    word = _typed_word(text, cursor)
    if word is not None:
        found = _fitting(word, commands)
        return Offers(0, cursor, tuple(found)) if found else None
    mention = partial(text, cursor)
    if mention is not None:
        paths = tuple(_file(each) for each in files(mention.path))
        return Offers(mention.start, cursor, paths) if paths else None
    return _argument(text, cursor, commands)


def _typed_word(text: str, cursor: int) -> str | None:
    """Return the command's name so far, where one is being typed and nothing stands behind the cursor."""
    found = _WORD.fullmatch(text[:cursor])
    return None if found is None or text[cursor : cursor + 1].strip() else found[1]


def _fitting(word: str, commands: Sequence[Offered]) -> list[Offer]:
    wanted = word.casefold()
    starting = [each for each in commands if each.name.casefold().startswith(wanted)]
    # Words in the middle only where enough is typed to mean them.
    holding = [
        each
        for each in commands
        if len(wanted) > 2 and each not in starting and wanted in each.name.casefold()
    ]
    return [
        Offer(f"/{each.name}{' ' if each.usage else ''}", f"/{each.name} {each.usage}".rstrip(), each.does)
        for each in (*starting, *holding)
    ]


def _file(path: str) -> Offer:
    if path.endswith("/"):
        # More is to be typed: the quote, where one is needed, stays open.
        return Offer(written(path).removesuffix('"'), path, "folder")
    return Offer(f"{written(path)} ", path)


def _argument(text: str, cursor: int, commands: Sequence[Offered]) -> Offers | None:
    found = _CHOICE.fullmatch(text[:cursor])
    if found is None:
        return None
    command = next((each for each in commands if each.name == found[1]), None)
    words = [each for each in command.words if each.startswith(found[2])] if command is not None else []
    if not words or words == [found[2]]:
        return None
    return Offers(found.start(2), cursor, tuple(Offer(each, each) for each in words))
