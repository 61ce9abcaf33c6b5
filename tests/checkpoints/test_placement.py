"""Where states are wanted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.checkpoints import Costs, Cut, place
from skippy_chat.checkpoints.placement import (
    GRID_TOKENS,
    MIN_SPACING,
    MIN_TAIL,
    STATES_PER_STEP,
    gap,
    spacing,
    tail_spacing,
    wanted_in_answer,
)

GIB = 1 << 30
SMALL = Costs(state=800_000, row=23_000, budget=10 * GIB)
LARGE = Costs(state=150 << 20, row=64 << 10, budget=10 * GIB)

Cuts = list[tuple[int, Cut]]


def message(cuts: Cuts, tokens: int, cut: Cut) -> None:
    """Add a message's cuts behind those there are."""
    start = cuts[-1][0] if cuts else 0
    cuts += [(start + at, Cut.GRID) for at in range(GRID_TOKENS, tokens, GRID_TOKENS)]
    cuts.append((start + tokens, cut))


def prompt(*messages: int) -> Cuts:
    """A prompt read from its beginning: the system prompt, then messages of so many tokens."""
    cuts: Cuts = []
    for number, tokens in enumerate(messages):
        last = number == len(messages) - 1
        boundary = Cut.END_OF_PROMPT if last else Cut.END_OF_MESSAGE
        message(cuts, tokens, boundary if number else Cut.END_OF_SYSTEM)
    message(cuts, 3, Cut.GENERATION_PROMPT)
    return cuts


def test_a_first_prompt_gets_its_system_prompt_and_its_end_twice() -> None:
    assert place(prompt(40, 20), SMALL, above=0, diverged=0) == {40, 60, 63}


def test_a_later_prompt_gets_the_boundaries_before_its_end() -> None:
    cuts: Cuts = [(1002, Cut.END_OF_MESSAGE), (1050, Cut.END_OF_PROMPT), (1053, Cut.GENERATION_PROMPT)]
    assert place(cuts, SMALL, above=1000, diverged=0) == {1002, 1050, 1053}


def test_a_large_state_must_save_something() -> None:
    cuts: Cuts = [(1002, Cut.END_OF_MESSAGE), (1050, Cut.END_OF_PROMPT), (1053, Cut.GENERATION_PROMPT)]
    assert place(cuts, LARGE, above=1000, diverged=0) == {1053}
    assert gap(LARGE) > 1000
    far: Cuts = [(20_000, Cut.END_OF_PROMPT), (20_003, Cut.GENERATION_PROMPT)]
    assert place(far, LARGE, above=1000, diverged=0) == {20_000, 20_003}


def test_the_cut_where_a_prompt_leaves_the_tree_gets_one() -> None:
    cuts = prompt(300, 2_000)
    assert 300 + 512 not in place(cuts, LARGE, above=0, diverged=0)
    assert 300 + 512 in place(cuts, LARGE, above=0, diverged=300 + 512)


def test_the_last_cut_inside_a_long_message_gets_one() -> None:
    """A question at its end is what changes first."""
    cuts = prompt(100, 20_000)
    assert max(stop for stop, cut in cuts if cut is Cut.GRID) in place(cuts, LARGE, above=0, diverged=0)


def test_without_partial_state_none_is_taken() -> None:
    assert place(prompt(40, 5_000), Costs(0, 64 << 10, GIB), above=0, diverged=40) == frozenset()
    assert not wanted_in_answer(Costs(0, 64 << 10, GIB), 1_000_000)


def test_nothing_to_read_wants_nothing() -> None:
    assert place([], SMALL, above=100, diverged=0) == frozenset()


def test_spacing_follows_rows_and_budget() -> None:
    assert spacing(Costs(1000, 20_000, 10 * GIB)) == MIN_SPACING
    assert spacing(Costs(150 << 20, 64 << 10, 1 << 50)) == 2400
    assert spacing(LARGE) > 2400
    assert spacing(Costs(1 << 20, 0, 10 * GIB)) == MIN_SPACING
    assert wanted_in_answer(LARGE, spacing(LARGE))
    assert not wanted_in_answer(LARGE, spacing(LARGE) - 1)


def test_the_last_cut_of_a_message_gets_a_state_where_its_rows_weigh_more() -> None:
    cuts = [
        (40, Cut.END_OF_SYSTEM),
        (296, Cut.GRID),
        (552, Cut.GRID),
        (640, Cut.END_OF_PROMPT),
        (645, Cut.GENERATION_PROMPT),
    ]
    assert 552 in place(cuts, SMALL, above=0, diverged=0)
    assert 552 not in place(cuts, LARGE, above=0, diverged=0)
    assert 552 not in place(cuts, Costs(1 << 20, 0, 10 * GIB), above=0, diverged=0)
    assert tail_spacing(SMALL) == MIN_TAIL
    assert tail_spacing(LARGE) == 2400
    assert tail_spacing(Costs(1 << 20, 0, 10 * GIB)) == MIN_SPACING


@given(
    messages=st.lists(st.integers(1, 5_000), min_size=2, max_size=60),
    read=st.integers(0, 40),
    left=st.integers(0, 100),
    state=st.sampled_from([1_000, 800_000, 20 << 20, 150 << 20]),
    row=st.sampled_from([0, 23_000, 64 << 10]),
    budget=st.sampled_from([64 << 20, GIB, 10 * GIB]),
)
def test_at_most_four_states_a_step_beside_the_spaced_ones(
    messages: list[int], read: int, left: int, state: int, row: int, budget: int
) -> None:
    whole = prompt(*messages)
    read = min(read, len(whole) - 1)
    above = whole[read - 1][0] if read else 0
    cuts = whole[read:]
    diverged = cuts[min(left, len(cuts) - 1)][0]
    costs = Costs(state, row, budget)
    chosen = place(cuts, costs, above=above, diverged=diverged)
    assert chosen <= {stop for stop, _ in cuts}
    assert cuts[-1][0] in chosen
    assert diverged in chosen
    tokens = cuts[-1][0] - above
    spaced = 1 + 2 * tokens // max(MIN_SPACING, spacing(costs))
    assert len(chosen) <= STATES_PER_STEP - 1 + spaced


def test_the_message_before_the_last_comes_before_what_lies_beside_the_generation_prompt() -> None:
    """A whole history read at once: what is edited next is its last message."""
    cuts = [
        (100, Cut.END_OF_SYSTEM),
        (400, Cut.END_OF_MESSAGE),
        (800, Cut.END_OF_MESSAGE),
        (1000, Cut.END_OF_PROMPT),
        (1003, Cut.GENERATION_PROMPT),
    ]
    costs = Costs(state=1 << 20, row=1 << 14, budget=10 << 30)
    assert place(cuts, costs, above=0, diverged=0) == {100, 800, 1003}
    assert place(cuts[3:], costs, above=800, diverged=800) == {1000, 1003}
