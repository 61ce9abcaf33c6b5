"""How the next token is chosen: a value that faces set, the ledger keeps, and the engine follows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampler settings of one answer; temperature 0 is greedy."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    seed: int = 0

    def to_json(self) -> str:
        """Return the settings as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Sampling:
        """Build settings from ``to_json`` text.

        Raises:
            ValueError: it is none.
        """
        try:
            return cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(f"not sampler settings: {error}") from error


def drawn_to_json(sampling: Sampling, redrawn: Sequence[int]) -> str:
    """Return what a ledger keeps of how an answer was drawn: its settings, and the tokens drawn a second time."""
    drawn = dataclasses.asdict(sampling)
    if redrawn:
        drawn["redrawn"] = list(redrawn)
    return json.dumps(drawn, sort_keys=True)


def drawn_from_json(text: str) -> tuple[Sampling, tuple[int, ...]]:
    """Read what ``drawn_to_json`` wrote.

    Raises:
        ValueError: it is none.
    """
    try:
        drawn = json.loads(text)
        redrawn = tuple(int(each) for each in drawn.pop("redrawn", ()))
        return Sampling(**drawn), redrawn
    except (AttributeError, TypeError) as error:
        raise ValueError(f"not sampler settings: {error}") from error
