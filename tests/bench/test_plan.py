from __future__ import annotations

import pytest

from skippy_chat.bench.plan import LENGTHS, Plan


def plan(*lengths: int) -> Plan:
    return Plan.of(quick=False, lengths=lengths)


def test_lengths_that_fit_are_measured_and_nothing_is_said() -> None:
    assert plan(1000, 2000).fitting(4096) == ((1000, 2000), "")


def test_in_place_of_those_beyond_the_context_the_longest_that_fits_is_measured_and_that_is_said() -> None:
    lengths, told = plan(1024, 8192, 16384).fitting(8192)
    assert lengths == (1024, 7680)
    assert "8,192 tokens ends before 8,192, 16,384" in told


@pytest.mark.parametrize("context", [256, 512, 1000])
def test_a_short_context_still_has_a_length(context: int) -> None:
    lengths, told = plan(8192).fitting(context)
    assert len(lengths) == 1
    assert 0 < lengths[0] < context
    assert told


def test_the_context_asked_for_holds_all_that_is_planned() -> None:
    full = Plan.of(quick=False)
    assert full.fitting(full.context) == (LENGTHS, "")
    assert full.context > full.grow_to


def test_turns_shrink_with_the_context() -> None:
    short = Plan.of(quick=True).within(256)
    assert 6 * (short.turn + 16) < 256
    assert short.unique + short.answer < 256
    assert Plan.of(quick=True).within(1 << 20) == Plan.of(quick=True)
