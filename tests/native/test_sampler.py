"""Sampling under a grammar: the row stays as it is, and what comes is allowed and likely."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from skippy_chat.errors import NativeError
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from skippy_chat.native.sampler import Sampler
from skippy_chat.sampling import Sampling
from tests.native.answering import grammar_of, parser_of, request, tools

VOCABULARY = 50_000
GREEDY = Sampling(temperature=0)


class Only:
    """A constraint that allows a fixed set of tokens, and counts what it is asked."""

    def __init__(self, *allowed: int) -> None:
        self._allowed = np.array(allowed, dtype=np.int32)
        self.taken: list[int] = []
        self.asked = 0

    def allows(self, token: int) -> bool:
        return token in self._allowed

    def mask(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        self.asked += len(ids)
        return np.isin(ids, self._allowed)

    def accept(self, token: int) -> bool:
        if self.allows(token):
            self.taken.append(token)
            return True
        return False


@pytest.fixture
def row() -> NDArray[np.float32]:
    return np.random.default_rng(7).normal(size=VOCABULARY).astype(np.float32)


def sampler(sampling: Sampling) -> Sampler:
    return Sampler(load(), sampling, VOCABULARY)


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(seed=3), Sampling(seed=3, top_k=0)])
@pytest.mark.parametrize("count", [1, 3, 1000, VOCABULARY])
def test_chosen_token_is_allowed_and_the_row_stays(
    row: NDArray[np.float32], sampling: Sampling, count: int
) -> None:
    before = row.copy()
    allowed = np.random.default_rng(count).permutation(VOCABULARY)[:count]
    one = sampler(sampling)
    only = Only(*allowed.tolist())
    for _ in range(5):
        token = one.choose(row, only)
        assert token in allowed
        # Nothing less likely than the samplers' own limit is taken.
        better = int((row[allowed] > row[token]).sum())
        assert better < (1 if sampling.temperature == 0 else sampling.top_k or count)
    assert len(only.taken) == 5
    assert (row == before).all()
    one.close()


def test_greedy_takes_the_best_allowed_and_the_lowest_of_equals(row: NDArray[np.float32]) -> None:
    one = sampler(GREEDY)
    allowed = sorted(np.random.default_rng(1).permutation(VOCABULARY)[:50].tolist())
    best = max(allowed, key=lambda token: row[token])
    assert one.choose(row, Only(*allowed)) == best
    flat = np.zeros(VOCABULARY, dtype=np.float32)
    assert one.choose(flat, Only(30_000, 40_000)) == 30_000
    one.close()


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(seed=9), Sampling(seed=9, temperature=2.0)])
def test_constraint_that_allows_all_changes_nothing(row: NDArray[np.float32], sampling: Sampling) -> None:
    free, bound = sampler(sampling), sampler(sampling)
    every = Only(*range(VOCABULARY))
    assert [free.choose(row) for _ in range(20)] == [bound.choose(row, every) for _ in range(20)]
    assert every.asked == 0
    free.close()
    bound.close()


def test_grammar_is_asked_about_few_tokens(row: NDArray[np.float32]) -> None:
    order = np.argsort(row)[::-1]
    only = Only(*order[20:40].tolist())
    one = sampler(GREEDY)
    assert one.choose(row, only) == order[20]
    assert only.asked < 100
    one.close()


def test_nothing_allowed_is_said(row: NDArray[np.float32]) -> None:
    for sampling in (GREEDY, Sampling()):
        one = sampler(sampling)
        with pytest.raises(NativeError, match="allows no token"):
            one.choose(row, Only())
        one.close()


@pytest.fixture(scope="module")
def loaded(default_model: Path) -> Iterator[Context]:
    model = Model(load(), default_model)
    context = Context(model, ContextOptions(n_ctx=2048, n_batch=512, n_ubatch=512, threads=1))
    yield context
    context.close()
    model.close()


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(seed=1), Sampling(seed=2, temperature=1.5)])
def test_model_is_held_to_a_call_that_is_asked_for(
    loaded: Context, template: ChatTemplate, sampling: Sampling
) -> None:
    model = loaded.model
    names = ("calculator", "read_file", "current_time")
    rendered = template.render(request("Tell me about the sea.", tools=tools(*names), tool_choice="required"))
    loaded.clear()
    ids = model.tokenize(rendered["prompt"], special=True, add_bos=model.adds_bos)
    loaded.decode(ids, 0, logits=True)
    one = Sampler(model.library, sampling, model.n_vocab)
    answer: list[int] = []
    with grammar_of(model, rendered) as grammar:
        while len(answer) < 150:
            token = one.choose(loaded.logits(), grammar)
            if model.is_end(token):
                break
            answer.append(token)
            loaded.decode([token], len(ids) + len(answer) - 1, logits=True)
        ended = len(answer) < 150
    one.close()
    with parser_of(model, rendered) as parser:
        parsed = parser.parse(model.detokenize(answer), partial=False)
    assert parsed.content.strip() == ""
    assert parsed.calls
    assert all(each.name in names for each in parsed.calls)
    if ended:
        assert parsed.complete
        assert all(isinstance(json.loads(each.arguments), dict) for each in parsed.calls)
