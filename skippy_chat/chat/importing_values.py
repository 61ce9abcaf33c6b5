"""Looking at a file that somebody sent: every value is taken with its place, so that a refusal can name it.

Invariant: nothing is coerced. A value is what is wanted, or ``ImportRefused`` says what stands there and where.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from skippy_chat.errors import ImportRefused
from skippy_chat.text.scalars import scalar_text

MOST_BYTES = 128 << 20
_MOST_VALUES = 1 << 24  # a hundred bytes of memory each, whatever the file's size
_MOST_DIGITS = 30
_DEEPEST = 64
_SHOWN = 40


def parse(data: bytes) -> Any:
    """Return the JSON value in a file.

    Raises:
        ImportRefused: it is larger than ``MOST_BYTES``, has too many values, is no UTF-8 or no JSON.
    """
    if len(data) > MOST_BYTES:
        raise ImportRefused(
            f"The file is larger than {MOST_BYTES >> 20} MiB.",
            "Take fewer branches: sessions export --branch MESSAGE.",
        )
    # Each value but the first stands behind one of these, which texts hold, too, but seldom so many.
    if sum(map(data.count, (b"[", b"{", b","))) > _MOST_VALUES:
        raise ImportRefused(
            f"The file has more than {_MOST_VALUES:,} values.", "Take fewer branches, or leave ledgers out."
        )
    try:
        return json.loads(
            data.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_int=_whole, parse_float=_real
        )
    except UnicodeDecodeError as error:
        raise ImportRefused(
            f"The file is not UTF-8 text (byte {error.start:,}).", "Save it as UTF-8."
        ) from error
    except json.JSONDecodeError as error:
        raise ImportRefused(
            f"The file is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.",
            "Give a file of sessions export --format json, or a list of messages.",
        ) from error
    except RecursionError as error:
        raise ImportRefused(
            "The file is nested too deeply.", "No conversation needs that; mend it where it was made."
        ) from error


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the file and its place, such as ``messages[3].role``; a part that is missing is None."""

    value: Any
    place: str

    def refuse(self, what: str, hint: str) -> ImportRefused:
        """Return the error that names this place."""
        return ImportRefused(f"{self.place or 'The file'}: {what}.", hint)

    def part(self, key: str) -> Found:
        """Return what stands under a key."""
        return Found(self.object().get(key), f"{self.place}.{key}" if self.place else key)

    def object(self) -> Mapping[str, Any]:
        """Return an object.

        Raises:
            ImportRefused: it is something else; so it is with the other methods.
        """
        if not isinstance(self.value, dict):
            raise self._wanted("an object")
        return self.value

    def items(self, most: int) -> Sequence[Found]:
        """Return the items of a list of at most ``most``."""
        if not isinstance(self.value, list):
            raise self._wanted("a list")
        if len(self.value) > most:
            raise self.refuse(f"{len(self.value):,} items are more than {most:,}", "Import less at a time.")
        return [Found(item, f"{self.place}[{number}]") for number, item in enumerate(self.value)]

    def text(self, most: int = MOST_BYTES) -> str:
        """Return a text of at most ``most`` characters, halves of surrogate pairs replaced."""
        if not isinstance(self.value, str):
            raise self._wanted("a text")
        if len(self.value) > most:
            raise self.refuse(f"a text of at most {most:,} characters is wanted", "Shorten it.")
        return scalar_text(self.value)

    def text_or_none(self, most: int = MOST_BYTES) -> str | None:
        """Return a text, or None where there is none."""
        return None if self.value is None else self.text(most)

    def flag(self) -> bool:
        """Return true or false; false where there is none."""
        if self.value is not None and not isinstance(self.value, bool):
            raise self._wanted("true or false")
        return bool(self.value)

    def whole(self, least: int, most: int) -> int:
        """Return a whole number within bounds, both included."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self._wanted("a whole number")
        if not least <= self.value <= most:
            raise self.refuse(f"it must be from {least} to {most}, not {self._shown()}", "Mend it.")
        return self.value

    def word(self, *choices: str) -> str:
        """Return one of these words."""
        if self.value not in choices:
            raise self.refuse(f"{self._shown()} is not known here", f"Known are: {', '.join(choices)}.")
        return str(self.value)

    def compact(self) -> str:
        """Return the value as JSON text, if it is not nested deeply."""
        if _depth(self.value) > _DEEPEST:
            raise self.refuse(f"it is nested more than {_DEEPEST} deep", "Make it flatter.")
        return json.dumps(self.value, ensure_ascii=False)

    def _wanted(self, what: str) -> ImportRefused:
        if self.value is None:
            return self.refuse(f"{what} is wanted, and nothing is there", "Add it.")
        return self.refuse(f"{what} is wanted, not {self._shown()}", "Mend it where it was made.")

    def _shown(self) -> str:
        if isinstance(self.value, (dict, list)):
            return "an object" if isinstance(self.value, dict) else "a list"
        text = json.dumps(self.value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _depth(value: Any) -> int:
    """Count how deep a value is nested, as far as matters."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        depth += 1
        containers = [each for each in level if isinstance(each, (dict, list))]
        level = [
            inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth


def _whole(digits: str) -> int:
    # Python takes quadratic time for long ones, or refuses them in words of its own.
    if len(digits) > _MOST_DIGITS:
        raise ImportRefused(f"The file has a number of {len(digits):,} digits.", "Shorten it.")
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ImportRefused(f"The file has a number that is too large: {digits[:_SHOWN]}.", "Mend it.")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ImportRefused(f"The file is not JSON: {name} is no number there.", "Write null, or a number.")
