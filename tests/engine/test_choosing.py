"""A recorded answer is drawn again as it was drawn, whatever a grammar had refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from skippy_chat.engine.choosing import Draw, DrawAgain
from skippy_chat.native.library import load
from skippy_chat.native.sampler import Sampler
from skippy_chat.sampling import Sampling

VOCABULARY = 200
END = 199


class Changing:
    """A constraint that allows other tokens at each step."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._allowed = self._next()

    def _next(self) -> set[int]:
        return {int(token) for token in self._random.permutation(VOCABULARY)[: self._random.integers(1, 150)]}

    def allows(self, token: int) -> bool:
        return token in self._allowed

    def mask(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        return np.array([int(token) in self._allowed for token in ids])

    def accept(self, token: int) -> bool:
        if token not in self._allowed:
            return False
        self._allowed = self._next()
        return True


def rows(seed: int, count: int) -> list[NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    return [(3 * random.normal(size=VOCABULARY)).astype(np.float32) for _ in range(count)]


def drawn(draw: Draw | DrawAgain, logits: Sequence[NDArray[np.float32]]) -> tuple[list[int], bool]:
    """Return the tokens drawn, and whether the answer ended by itself."""
    answer: list[int] = []
    for row in logits:
        token = draw.next(row)
        if token is None:
            return answer, True
        answer.append(token)
    return answer, False


SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.7, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 40]),
    top_p=st.sampled_from([0.3, 0.95, 1.0]),
    min_p=st.sampled_from([0.0, 0.05]),
    seed=st.integers(0, 2**32 - 1),
)


@settings(max_examples=80, deadline=None)
@given(sampling=SAMPLINGS, seed=st.integers(0, 1000), constrained=st.booleans())
def test_an_answer_is_drawn_again(sampling: Sampling, seed: int, constrained: bool) -> None:
    logits = rows(seed, 30)
    sampler = Sampler(load(), sampling, VOCABULARY)
    draw = Draw(sampler, lambda token: token == END, Changing(seed) if constrained else None)
    answer, ended = drawn(draw, logits)
    sampler.close()
    assert constrained or draw.redrawn == []
    assert all(0 <= index < len(answer) for index in draw.redrawn)

    sampler = Sampler(load(), sampling, VOCABULARY)
    again = DrawAgain(sampler, lambda token: token == END, answer, draw.redrawn, ended=ended)
    assert drawn(again, logits) == (answer, ended)
    assert list(again.redrawn) == draw.redrawn
    sampler.close()


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_token_that_was_not_redrawn_is_drawn_freely(temperature: float) -> None:
    """So a replay tells when the logits are others: it does not follow what was recorded."""
    logits = rows(1, 10)
    sampling = Sampling(temperature=temperature, seed=3)
    sampler = Sampler(load(), sampling, VOCABULARY)
    answer, _ = drawn(Draw(sampler, lambda _token: False), logits)
    sampler.close()
    logits[4] = rows(2, 1)[0]
    sampler = Sampler(load(), sampling, VOCABULARY)
    again, _ = drawn(DrawAgain(sampler, lambda _token: False, answer, (), ended=False), logits)
    sampler.close()
    assert again[:4] == answer[:4]
    assert again[4] != answer[4]


def test_an_answer_ends_where_it_is_told_to() -> None:
    sampler = Sampler(load(), Sampling(temperature=0), VOCABULARY)
    asked: list[int] = []

    def is_over() -> bool:
        asked.append(1)
        return len(asked) == 3

    answer, ended = drawn(Draw(sampler, lambda _token: False, None, is_over), rows(1, 10))
    sampler.close()
    assert (len(answer), ended) == (3, True)
