"""What a path that is not there was probably meant to be: models copy rare names badly, people mistype them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches

_MOST_NAMES = 1000  # looked at; a larger folder is not searched for a typing error
_MOST_TOLD = 3
_FEW_NAMES = 8  # told whole where none of them is close: cheaper than a call that lists them
_LIKENESS = 0.6
_LONGEST = 80  # of names compared: the time that takes grows with its square


def meant(
    name: str,
    folder: int,
    otherwise: str = "list_directory shows what there is.",
    *,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
) -> str:
    """Return the hint for a name that is not in an open folder, with paths that can be used as they stand.

    ``above`` are the names that lead to the folder, ``below`` those that were to follow. Told are the names close to
    it, the closest first (capitals do not count), else all of them where they are few, else ``otherwise``.
    """
    names = _told_names(folder)
    if close := _closest(name, names):
        return f"Close to it: {_list_of([(*above, each, *below) for each in close])}."
    few = sorted(each for each in names if not each.startswith("."))
    if 0 < len(few) <= _FEW_NAMES:
        return f"There: {_list_of([(*above, each) for each in few])}."
    return otherwise


def _told_names(folder: int) -> list[str]:
    """Return the names that can be told: none with half a character or a line break in it, and no long ones."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    if len(names) > _MOST_NAMES:
        return []
    return [each for each in names if len(each) <= _LONGEST and each.isprintable()]


def _closest(name: str, names: Sequence[str]) -> list[str]:
    if len(name) > _LONGEST:
        return []
    known = {each.lower(): each for each in names}
    return [known[each] for each in get_close_matches(name.lower(), known, _MOST_TOLD, _LIKENESS)]


def _list_of(paths: Sequence[Sequence[str]]) -> str:
    return ", ".join(f'"{"/".join(parts)}"' for parts in paths)
