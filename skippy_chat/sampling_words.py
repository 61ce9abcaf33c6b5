"""Sampling said in a line, for one answer: ``temperature=1.2 seed=7``; the same words in every face.

Invariant: a number means what the setting of that name means, and one that would be refused there is refused here.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping

from skippy_chat.errors import UsageError
from skippy_chat.sampling import Sampling
from skippy_chat.setting_table import TABLE

SAMPLING_USAGE = "[temperature=N] [top_k=N] [top_p=N] [min_p=N] [seed=N]"
_NAMES = tuple(each.name for each in dataclasses.fields(Sampling))


def read_sampling(argument: str) -> Mapping[str, float | int]:
    """Return which fields of ``Sampling`` a line changes; a lone number is a temperature.

    Raises:
        UsageError: a word is not ``name=number``, or a number does not fit; says which.
    """
    changes: dict[str, float | int] = {}
    for word in argument.replace(",", " ").split():
        name, equals, said = word.partition("=")
        if not equals:
            name, said = ("temperature", word) if _is_number(word) else (word, "")
        if name not in _NAMES:
            close = difflib.get_close_matches(name, _NAMES, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(_NAMES)}."
            raise UsageError(f"{name} is no part of sampling.", hint)
        try:
            value = TABLE[name].kind.take(said)
        except ValueError as error:
            raise UsageError(f"{name}: {error.args[0]}.", f"Such as: {SAMPLING_USAGE}") from error
        if not isinstance(value, (int, float)):
            raise UsageError(f"{name}: a number is wanted.", f"Such as: {SAMPLING_USAGE}")
        changes[name] = value
    return changes


def sampling_with(sampling: Sampling, changes: Mapping[str, float | int]) -> Sampling:
    """Return ``sampling`` with what ``read_sampling`` gave."""
    return dataclasses.replace(sampling, **changes)  # type: ignore[arg-type] # the table gives each its type


def sampling_told(sampling: Sampling) -> str:
    """Return a sampling on one line, as it is typed."""
    return " ".join(f"{name}={getattr(sampling, name):g}" for name in _NAMES[:-1]) + f" seed={sampling.seed}"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
