"""Texts are the same everywhere, and sizes fit."""

from __future__ import annotations

import pytest

from skippy_chat.gate.material import Ids, Sizes, Words


def test_ids_have_the_length_asked_for_and_fit_the_smallest_vocabulary() -> None:
    ids = [int(each) for each in Ids().text(3, 500).split()]
    assert len(ids) == 500
    assert all(10 <= each <= 127 for each in ids)
    assert Ids().text(3, 500) == Ids().text(3, 500) != Ids().text(4, 500)


def test_words_follow_the_tokenizer() -> None:
    assert len(Words(2.0).text(1, 100).split()) == 50
    assert len(Words(0.5).text(1, 100).split()) == 200
    assert Words(9.0).text(1, 1)
    assert Words(1.0).text(5, 12) == Words(1.0).text(5, 12)


@pytest.mark.parametrize("context", [256, 512, 1024, 2048, 8192, 1 << 20])
@pytest.mark.parametrize("prefix", [8, 300, 4000, 100_000])
def test_what_is_chosen_fits_the_context(context: int, prefix: int) -> None:
    sizes = Sizes.fitting(prefix, context)
    assert 8 <= sizes.prefix <= prefix
    assert sizes.prefix + 2 * sizes.tail < context
    assert sizes.head + 3 * sizes.turn + sizes.inside + max(sizes.tails) < context
    assert sizes.tails + sizes.left_out == (1, 10, 100, 1000)


def test_a_large_context_leaves_nothing_out() -> None:
    sizes = Sizes.fitting(4000, 8192)
    assert (sizes.prefix, sizes.head, sizes.inside, sizes.left_out) == (4000, 400, 300, ())
