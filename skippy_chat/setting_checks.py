"""Checking single settings: each check takes a value as TOML gives it, or its text, and returns it as the field has it.

Invariant: a value that does not fit is a ``ValueError`` with what is wanted, and perhaps a hint; nothing is guessed.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from typing import TypeAlias

from skippy_chat.text.sizes import parse_size

_ON = frozenset({"true", "on", "yes", "1"})
_OFF = frozenset({"false", "off", "no", "0"})
_NOTHING = frozenset({"none", "auto"})

Check: TypeAlias = Callable[[object], object]


def text(value: object) -> object:
    """Take a text; an empty one is None."""
    if not isinstance(value, str):
        raise ValueError("text is wanted")
    return value or None


def switch(value: object) -> object:
    """Take true or false, on or off, yes or no."""
    word = str(value).strip().lower()
    if not isinstance(value, (bool, str)) or word not in _ON | _OFF:
        raise ValueError("on or off is wanted")
    return word in _ON


def one_of(*choices: str) -> Check:
    """Return a check for one of these words."""

    def check(value: object) -> object:
        word = str(value).strip().lower()
        # TOML has true and false where a person may mean on and off.
        if isinstance(value, bool) and "on" in choices:
            word = "on" if value else "off"
        if word not in choices:
            close = difflib.get_close_matches(word, choices, n=1)
            raise ValueError(
                f"{', '.join(choices)} are possible", *(f"Did you mean {each}?" for each in close)
            )
        return word

    return check


def whole(least: int, most: int | None = None) -> Check:
    """Return a check for a whole number within bounds, both included."""
    bounds = f"at least {least}" if most is None else f"from {least} to {most}"

    def check(value: object) -> object:
        number: object = value
        if isinstance(value, str):
            try:
                number = int(value)
            except ValueError:
                number = None
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError("a whole number is wanted")
        if number < least or (most is not None and number > most):
            raise ValueError(f"it must be {bounds}")
        return number

    return check


def real(least: float, most: float) -> Check:
    """Return a check for a number within bounds, both included."""

    def check(value: object) -> object:
        try:
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            raise ValueError("a number is wanted")
        if not least <= number <= most:
            raise ValueError(f"it must be from {least:g} to {most:g}")
        return number

    return check


def size(value: object) -> object:
    """Take a number of bytes, or a text such as ``2GiB``."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError:
            pass
    raise ValueError('a size such as "2GiB" is wanted')


def or_nothing(check: Check) -> Check:
    """Return a check that also takes none and auto, which are None."""

    def optional(value: object) -> object:
        return None if isinstance(value, str) and value.strip().lower() in _NOTHING else check(value)

    return optional


def context(value: object) -> object:
    """Take a context size in tokens."""
    number = whole(0, 1 << 24)(value)
    if isinstance(number, int) and 0 < number < 256:
        raise ValueError("it must be 256 or more, or 0 for all the model was trained for")
    return number


def words(pattern: str, what: str) -> Check:
    """Return a check for a list of words that fit ``pattern``, or for their text with commas between.

    The word none is the empty list. Words said twice count once, order stays.
    """
    fitting = re.compile(pattern)

    def check(value: object) -> object:
        given: object = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
        if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
            raise ValueError(f"a list of {what} is wanted")
        found = tuple(dict.fromkeys(each for each in given if each))
        if found in (("none",), ()):
            return ()
        if "none" in found:
            raise ValueError("none goes with nothing else")
        if wrong := next((each for each in found if not fitting.fullmatch(each)), ""):
            raise ValueError(f"{wrong!r} cannot be one of the {what}")
        return found

    return check
