"""Texts of a wanted length in tokens, the same for the same seed, each unlike all others.

Words are common ones, about a token each in every tokenizer; how many tokens they really make is asked of the model
once. For models without a usable template contents are token ids.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

_SAID = (
    "the river ran past an old stone house where seven people lived and worked each morning they walked down to "
    "water with empty buckets while birds sang in tall green trees children played near bridge until evening light "
    "fell over quiet fields then somebody lit lamp told story about ships that crossed cold northern sea carrying "
    "salt iron wool letters from far away towns nobody had ever seen but everyone liked to hear their names again"
)
_WORDS = _SAID.split()
_FIRST_ID, _LAST_ID = 10, 127  # in every vocabulary, and no special token of the generated test models


@dataclass(frozen=True, slots=True)
class Texts:
    """Writes texts; ``per_word`` is how many tokens a word makes, ``by_ids`` whether contents are ids."""

    by_ids: bool = False
    per_word: float = 1.0

    def calibrated(self, words: int, tokens: int) -> Texts:
        """Return a writer that knows that ``words`` made ``tokens``."""
        return self if self.by_ids else replace(self, per_word=max(0.1, tokens / words))

    def text(self, seed: int, tokens: int) -> str:
        """Return a text of about ``tokens`` tokens (exactly so many ids)."""
        generator = np.random.default_rng(seed)
        if self.by_ids:
            ids = generator.integers(_FIRST_ID, _LAST_ID + 1, max(1, tokens))
            return " ".join(str(each) for each in ids)
        count = max(1, round(tokens / self.per_word))
        words = [_WORDS[index] for index in generator.integers(0, len(_WORDS), count)]
        return " ".join(words)
