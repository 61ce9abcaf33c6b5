"""How the next token is chosen: a value that faces set, the ledger keeps, and the engine follows."""

from __future__ import annotations

import dataclasses
import json
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
