"""What is chosen fits."""

from __future__ import annotations

import pytest

from skippy_chat.gate.sizes import Sizes


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
