"""What is said: words for models with a chat template, token ids for those without a usable one.

Invariant: the same seed and length give the same text, on every machine; nothing is taken from outside.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

_TEXT = """
about above across after again along always among answer autumn basket beach before begin behind below
better between bottle bread bridge bright bring butter candle carry castle chair cheese circle city clean
clear close cloud coast colour copper corner cotton country cover cross dance daughter deep dinner distance
doctor door dream drive early earth east empty engine evening every family farmer father feather field
finger fire flower follow forest garden gentle glass golden grass green ground harbour heavy hill honey
horse house hundred island kitchen ladder lake large later leave letter light listen little market meadow
middle milk mirror money month morning mother mountain narrow nature never night north number ocean often
orange paper pencil people picture pillow planet plenty pocket pretty question quiet rabbit rain reader
ribbon river road round school season second shadow silver simple sister small snow soft south spring square
station stone story street summer table thunder ticket tower train travel tree under valley village voice
walk warm water weather west window winter wonder wood yellow young
"""
_WORDS = _TEXT.split()
_SENTENCE = 11
_LOWEST, _HIGHEST = 10, 127
"""Token ids that every vocabulary has, down to those of the smallest test models."""


class Material(Protocol):
    """Makes contents of messages."""

    @property
    def by_ids(self) -> bool:
        """Whether contents are token ids as text."""

    def text(self, seed: int, tokens: int) -> str:
        """Return a content of ``tokens`` tokens, about so many where it is words; each seed has its own."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Token ids as text."""

    by_ids: bool = True

    def text(self, seed: int, tokens: int) -> str:
        """Return exactly so many ids."""
        source = random.Random(seed)  # noqa: S311 - a text, not a secret
        return " ".join(str(source.randint(_LOWEST, _HIGHEST)) for _ in range(tokens))


@dataclass(frozen=True, slots=True)
class Words:
    """Plain words; ``rate`` is how many tokens this model's tokenizer makes of one."""

    rate: float = 1.0
    by_ids: bool = False

    def text(self, seed: int, tokens: int) -> str:
        """Return words of about so many tokens, in short sentences; at least one word."""
        source = random.Random(seed)  # noqa: S311 - a text, not a secret
        words = [source.choice(_WORDS) for _ in range(max(1, round(tokens / self.rate)))]
        for at in range(_SENTENCE - 1, len(words) - 1, _SENTENCE):
            words[at] += "."
        return " ".join(words)
