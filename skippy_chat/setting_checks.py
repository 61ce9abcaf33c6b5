"""What single settings may be: a ``Kind`` takes a value as TOML has it, or its text, and gives it as the field has it.

Invariant: a value that does not fit is a ``ValueError`` with what is wanted, and perhaps a hint; nothing is guessed.
What a kind's JSON Schema lets through, the kind takes.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from skippy_chat.key_names import SENDABLE, key_name
from skippy_chat.text.sizes import parse_size

_ON = ("true", "on", "yes", "1")
_OFF = ("false", "off", "no", "0")
_NOTHING = ("none", "auto")
_NAME = r"[a-z][a-z-]*"  # of a command or an action

Check: TypeAlias = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Kind:
    """The values of a setting: ``take`` checks one, ``told`` says in words what fits.

    ``schema`` is the JSON Schema of what a TOML file may hold. ``choices`` are words to offer while one types.
    """

    take: Check
    told: str
    schema: Mapping[str, Any]
    choices: tuple[str, ...] = ()


def text() -> Kind:
    """Return the kind of any text; an empty one is None."""

    def take(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError("text is wanted")
        return value or None

    return Kind(take, "text", {"type": "string"})


def name_of(pattern: str, what: str) -> Kind:
    """Return the kind of one word that fits ``pattern``; empty and none are None."""
    fitting = re.compile(pattern)

    def take(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"{what} is wanted")
        if value in ("", "none"):
            return None
        if not fitting.fullmatch(value):
            raise ValueError(f"{what} is wanted: letters, digits, dots, dashes and underscores")
        return value

    return Kind(take, what, {"type": "string", "pattern": f"^(?:{pattern}|)$"})


def switch() -> Kind:
    """Return the kind of true or false, on or off, yes or no."""

    def take(value: object) -> object:
        word = str(value).strip().lower()
        if not isinstance(value, (bool, str)) or word not in _ON + _OFF:
            raise ValueError("on or off is wanted")
        return word in _ON

    schema = {"anyOf": [{"type": "boolean"}, {"enum": [*_ON, *_OFF]}]}
    return Kind(take, "true or false", schema, ("true", "false"))


def one_of(*choices: str) -> Kind:
    """Return the kind of one of these words."""

    def take(value: object) -> object:
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

    possible: list[object] = [*choices, *((True, False) if "on" in choices else ())]
    return Kind(take, f"{', '.join(choices[:-1])} or {choices[-1]}", {"enum": possible}, choices)


def whole(least: int, most: int) -> Kind:
    """Return the kind of a whole number within bounds, both included."""

    def take(value: object) -> object:
        number: object = value
        if isinstance(value, str):
            try:
                number = int(value)
            except ValueError:
                number = None
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError("a whole number is wanted")
        if not least <= number <= most:
            raise ValueError(f"it must be from {least} to {most}")
        return number

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Kind(take, f"a whole number from {least:,} to {most:,}", schema)


def real(least: float, most: float) -> Kind:
    """Return the kind of a number within bounds, both included."""

    def take(value: object) -> object:
        try:
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            raise ValueError("a number is wanted")
        if not least <= number <= most:
            raise ValueError(f"it must be from {least:g} to {most:g}")
        return number

    schema = {"type": "number", "minimum": least, "maximum": most}
    return Kind(take, f"a number from {least:g} to {most:g}", schema)


def size() -> Kind:
    """Return the kind of a number of bytes, or a text such as ``2GiB``."""

    def take(value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if isinstance(value, str):
            try:
                return parse_size(value)
            except ValueError:
                pass
        raise ValueError('a size such as "2GiB" is wanted')

    text_of_one = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?(([KMGTkmgt][Ii]?)?[Bb]|[KMGTkmgt])?$"}
    return Kind(
        take, "bytes, or a size such as 2GiB", {"anyOf": [{"type": "integer", "minimum": 0}, text_of_one]}
    )


def or_nothing(kind: Kind) -> Kind:
    """Return the kind that also takes none and auto, which are None."""

    def take(value: object) -> object:
        return None if isinstance(value, str) and value.strip().lower() in _NOTHING else kind.take(value)

    schema = {"anyOf": [kind.schema, {"enum": list(_NOTHING)}]}
    return Kind(take, f"{kind.told}, or auto", schema, (*kind.choices, "auto"))


def context() -> Kind:
    """Return the kind of a context size in tokens."""
    most = 1 << 24

    def take(value: object) -> object:
        number = whole(0, most).take(value)
        if isinstance(number, int) and 0 < number < 256:
            raise ValueError("it must be 256 or more, or 0 for all the model was trained for")
        return number

    schema = {"anyOf": [{"const": 0}, {"type": "integer", "minimum": 256, "maximum": most}]}
    return Kind(take, f"tokens, from 256 to {most:,}, or 0", schema)


def words(pattern: str, what: str, choices: tuple[str, ...] = ()) -> Kind:
    """Return the kind of a list of words that fit ``pattern``, or of their text with commas between.

    The word none is the empty list. Words said twice count once, order stays.
    """
    fitting = re.compile(pattern)

    def take(value: object) -> object:
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

    several = {
        "type": "array",
        "items": {"type": "string", "pattern": f"^(?:{pattern})$", "not": {"const": "none"}},
    }
    listed = {"type": "string", "pattern": f"^(?:{pattern})$"}
    return Kind(take, f"a list of {what}", {"anyOf": [several, listed]}, choices)


def keys_of() -> Kind:
    """Return the kind of a table of names and their keys, or its text: ``name=key key, name=key``.

    A value is a key, several in a list or with spaces between, or none. It gives each name a tuple of keys.
    """
    fitting = re.compile(_NAME)

    def take(value: object) -> object:
        given: object = _table_of(value) if isinstance(value, str) else value
        if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given):
            raise ValueError("a table of names and their keys is wanted", 'Write: name = "ctrl+g"')
        if wrong := next((each for each in given if not fitting.fullmatch(each)), ""):
            raise ValueError(f"{wrong!r} cannot be the name of a command", "Names are as in /keys.")
        return {name: _keys_in(name, keys) for name, keys in given.items()}

    one = {"type": "string", "pattern": f"^(?:none|(?:{SENDABLE})(?: (?:{SENDABLE}))*|)$"}
    several = {"type": "array", "items": {"type": "string", "pattern": f"^(?:{SENDABLE})$"}}
    schema = {
        "type": "object",
        "propertyNames": {"pattern": f"^(?:{_NAME})$"},
        "additionalProperties": {"anyOf": [one, several]},
    }
    return Kind(take, "a table of names and keys", schema)


def _table_of(text: str) -> dict[str, str] | None:
    pairs = [each.partition("=") for each in text.split(",") if each.strip() not in ("", "none")]
    return {name.strip(): keys for name, _, keys in pairs} if all(equals for _, equals, _ in pairs) else None


def _keys_in(name: str, given: object) -> tuple[str, ...]:
    words = given.split() if isinstance(given, str) else given
    if not isinstance(words, (list, tuple)) or not all(isinstance(each, str) for each in words):
        raise ValueError(f"a key, or a list of keys, is wanted for {name}")
    if tuple(words) in ((), ("none",)):
        return ()
    try:
        return tuple(dict.fromkeys(key_name(each) for each in words))
    except ValueError as error:
        told, *hint = error.args
        raise ValueError(f"{name}: {told}", *hint) from error
