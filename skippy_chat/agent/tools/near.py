"""What a name that is not there was probably meant to be: models copy rare names badly, people mistype them."""

from __future__ import annotations

import os
from difflib import get_close_matches

_MOST_NAMES = 5000  # looked at; a larger folder is not searched for a typing error
_MOST_TOLD = 3
_LIKENESS = 0.7


def meant(name: str, folder: int, otherwise: str) -> str:
    """Return the hint for a name that is not in an open folder: the names close to it, or ``otherwise``."""
    close = ", ".join(f'"{each}"' for each in names_near(name, folder))
    return f"Close to it: {close}." if close else otherwise


def names_near(name: str, folder: int) -> list[str]:
    """Return the names in an open folder that differ little from ``name``, the closest first; capitals do not count.

    One that cannot be written down, half a character or a line break in it, is left out.
    """
    try:
        known = {each.lower(): each for each in os.listdir(folder) if each.isprintable()}
    except OSError:
        return []
    if len(known) > _MOST_NAMES:
        return []
    return [known[each] for each in get_close_matches(name.lower(), known, _MOST_TOLD, _LIKENESS)]
