"""What a path that is not there was probably meant to be: models copy rare names badly, people mistype them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice

_MOST_NAMES = 1000  # looked at; a larger folder is not searched for a typing error
_MOST_TOLD = 3
_FEW_NAMES = 8  # told whole where none of them is close: cheaper than a call that lists them
_LIKENESS = 0.6
_LONGEST = 80  # of names compared: the time that takes grows with its square
_MOST_FOLDERS = 200  # looked into for the same name elsewhere: those nearest to the top
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def meant(
    name: str,
    folder: int,
    otherwise: str = "list_directory shows what there is.",
    *,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    top: tuple[int, Sequence[str]] | None = None,
) -> str:
    """Return the hint for a name that is not in an open folder, with paths that can be used as they stand.

    ``above`` are the names that lead to the folder, ``below`` those that were to follow. ``top`` is an open folder,
    and the names that lead to it, from which on the last name is looked for in other folders: they are often
    forgotten. Told are those places, then the names close to it, the closest first (capitals do not count); else all
    of them where they are few, else ``otherwise``.
    """
    names = _told_names(folder)
    last = below[-1] if below else name
    close = [] if top is None else [(*top[1], *each, last) for each in _holding(last, top[0])]
    close += [(*above, each, *below) for each in _closest(name, names)]
    if close:
        return f"Close to it: {_list_of(list(dict.fromkeys(close))[:_MOST_TOLD])}."
    few = sorted(each for each in names if not each.startswith("."))
    if 0 < len(few) <= _FEW_NAMES:
        return f"There: {_list_of([(*above, each) for each in few])}."
    return otherwise


def _holding(name: str, folder: int) -> list[tuple[str, ...]]:
    """Return where a name is in or below an open folder, the nearest first; hidden folders and links are not entered.

    Each place is the names that lead to it from that folder.
    """
    found: list[tuple[str, ...]] = []
    waiting: deque[tuple[str, ...]] = deque([()])
    for _ in range(_MOST_FOLDERS):
        if not waiting or len(found) == _MOST_TOLD:
            break
        parts = waiting.popleft()
        names, folders = _inside(folder, parts)
        if name in names:
            found.append(parts)
        waiting += [(*parts, each) for each in sorted(folders)]
    return found


def _inside(folder: int, parts: tuple[str, ...]) -> tuple[set[str], list[str]]:
    """Return the names in a folder below an open one, and those of folders that may be entered."""
    opened: list[int] = []
    try:
        for part in parts:
            opened.append(os.open(part, OPEN_FOLDER, dir_fd=opened[-1] if opened else folder))
        with os.scandir(opened[-1] if opened else folder) as entries:
            seen = list(islice(entries, _MOST_NAMES))
            return {each.name for each in seen}, [each.name for each in seen if _may_be_entered(each)]
    except OSError:
        return set(), []
    finally:
        for each in opened:
            os.close(each)


def _may_be_entered(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    return not name.startswith(".") and _may_be_told(name) and entry.is_dir(follow_symlinks=False)


def _told_names(folder: int) -> list[str]:
    """Return the names that can be told: none with half a character or a line break in it, and no long ones."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    if len(names) > _MOST_NAMES:
        return []
    return [each for each in names if _may_be_told(each)]


def _may_be_told(name: str) -> bool:
    return len(name) <= _LONGEST and name.isprintable()


def _closest(name: str, names: Sequence[str]) -> list[str]:
    if len(name) > _LONGEST:
        return []
    known = {each.lower(): each for each in names}
    return [known[each] for each in get_close_matches(name.lower(), known, _MOST_TOLD, _LIKENESS)]


def _list_of(paths: Sequence[Sequence[str]]) -> str:
    return ", ".join(f'"{"/".join(parts)}"' for parts in paths)
