"""What a name that is not there was probably meant to be: models copy rare names badly, people mistype them."""

from __future__ import annotations

import os
from difflib import get_close_matches

_MOST_NAMES = 1000  # looked at; a larger folder is not searched for a typing error
_MOST_TOLD = 3
_LIKENESS = 0.7
_LONGEST = 80  # of names compared: the time that takes grows with its square


def meant(name: str, folder: int, otherwise: str = "list_directory shows what there is.") -> str:
    """Return the hint for a name that is not in an open folder: the names close to it, or ``otherwise``."""
    close = ", ".join(f'"{each}"' for each in names_near(name, folder))
    return f"Close to it: {close}." if close else otherwise


def names_near(name: str, folder: int) -> list[str]:
    """Return the names in an open folder that differ little from ``name``, the closest first; capitals do not count.

    One that cannot be written down, half a character or a line break in it, is left out, and so are long ones.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    if len(names) > _MOST_NAMES or len(name) > _LONGEST:
        return []
    known = {each.lower(): each for each in names if len(each) <= _LONGEST and each.isprintable()}
    return [known[each] for each in get_close_matches(name.lower(), known, _MOST_TOLD, _LIKENESS)]
