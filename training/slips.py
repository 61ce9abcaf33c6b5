"""Names written a little wrong, as the model writes them: for calls that fail, so that it learns to mend them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_MARKS = "_- "
_ENDINGS = ("txt", "md", "csv", "log", "json")


def slipped(path: str, random: Random) -> str:
    """Return ``path`` with one slip in it; the same path where it has no place for one."""
    ways: tuple[Callable[[str, Random], str], ...] = (_folder, _letter, _letter, _case, _mark, _ending)
    for way in random.sample(ways, len(ways)):
        changed = way(path, random)
        if changed and changed != path:
            return changed
    return path


def _folder(path: str, _: Random) -> str:
    """Forget the folder."""
    return path.rsplit("/", 1)[-1]


def _letter(path: str, random: Random) -> str:
    """Leave a letter of the name out, double it, or take it for its neighbour."""
    start = path.rfind("/") + 1
    end = path.rfind(".") if path.rfind(".") > start else len(path)
    places = [at for at in range(start + 1, end) if path[at].isalpha()]
    if not places:
        return path
    at = random.choice(places)
    kind = random.randrange(3)
    if kind == 0:
        return path[:at] + path[at + 1 :]
    if kind == 1:
        return path[:at] + path[at] + path[at:]
    return path[: at - 1] + path[at] + path[at - 1] + path[at + 1 :]


def _case(path: str, _: Random) -> str:
    """Begin the name with the other kind of letter."""
    start = path.rfind("/") + 1
    return path[:start] + path[start : start + 1].swapcase() + path[start + 1 :]


def _mark(path: str, random: Random) -> str:
    """Take one mark between words for another."""
    places = [at for at, each in enumerate(path) if each in _MARKS]
    if not places:
        return path
    at = random.choice(places)
    return path[:at] + random.choice(_MARKS.replace(path[at], "")) + path[at + 1 :]


def _ending(path: str, random: Random) -> str:
    stem, dot, _ = path.rpartition(".")
    return f"{stem}.{random.choice(_ENDINGS)}" if dot and "/" not in path[len(stem) :] else path
