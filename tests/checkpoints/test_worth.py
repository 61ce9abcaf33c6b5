"""What goes first, on trees made of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from skippy_chat.checkpoints.worth import END, HALF_LIFE, WORTHLESS, Spot, lowest, rank, tick, work

ROW, STATE = 20_000, 800_000


class Trees:
    """Nodes by id; every rank is worked out when it is asked for first."""

    def __init__(self, *spots: Spot) -> None:
        self.spots = {spot.id: spot for spot in spots}

    def victims(self) -> Iterator[tuple[int, float]]:
        may_go = [s for s in self.spots.values() if s.captured or not s.children]
        return iter(sorted(((s.id, s.rank) for s in may_go), key=lambda each: (each[1], each[0])))

    def spot(self, node: int) -> Spot | None:
        return self.spots.get(node)

    def set_rank(self, node: int, rank: float) -> None:
        self.spots[node] = replace(self.spots[node], rank=rank)


def chain(*states: int, tokens: int = 256, aged: float = 0.0) -> list[Spot]:
    """One node below the other, each with rows and a state of so many bytes."""
    return [
        Spot(
            id=at,
            parent=at - 1,
            position=tokens * at,
            tokens=tokens,
            children=int(at < len(states)),
            aged=aged,
            rank=WORTHLESS,
            kv=ROW * tokens,
            state=state,
            logits=0,
        )
        for at, state in enumerate(states, 1)
    ]


def ranks(*spots: Spot, partial: bool = True) -> dict[int, float]:
    trees = Trees(*spots)
    return {spot.id: rank(trees, spot, partial=partial) for spot in spots}


def test_work_grows_with_depth_where_there_is_attention() -> None:
    assert work(0, 100, attention=False) == work(9_000, 9_100, attention=False) == 100
    assert work(9_000, 9_100, attention=True) > 2 * work(0, 100, attention=True)
    assert work(0, 300, attention=True) == pytest.approx(
        work(0, 100, attention=True) + work(100, 300, attention=True)
    )


def test_a_state_is_worth_what_is_read_again_from_the_one_above() -> None:
    near = ranks(*chain(STATE, STATE, STATE, 0, STATE))
    far = ranks(*chain(STATE, 0, 0, STATE, STATE))
    assert far[4] > near[2]
    assert near[4] == WORTHLESS


def test_a_state_in_the_way_makes_the_next_one_worth_less() -> None:
    without = ranks(*chain(STATE, 0, STATE, STATE))
    between = ranks(*chain(STATE, STATE, STATE, STATE))
    assert between[3] < without[3]


def test_a_large_state_is_worth_less_than_a_small_one() -> None:
    assert ranks(*chain(STATE, 40 * STATE, STATE))[2] < ranks(*chain(STATE, STATE, STATE))[2]


def test_rows_below_the_deepest_state_are_worthless() -> None:
    assert ranks(*chain(STATE, STATE, 0))[3] == WORTHLESS


def test_a_dense_model_can_be_resumed_anywhere() -> None:
    found = ranks(*chain(0, 0, 0), partial=False)
    assert found[3] > WORTHLESS
    assert found[3] == pytest.approx(END, abs=0.2)  # a token's worth of rows saves about a token


def test_use_outweighs_worth_after_so_much_was_written() -> None:
    budget = 1 << 30
    assert tick(int(HALF_LIFE * budget), budget) == 1
    old = ranks(*chain(STATE, STATE, 0))[2]
    new = ranks(*chain(STATE, 2 * STATE, 0, aged=tick(budget, budget)))[2]
    assert new > old


def test_a_rank_kept_too_low_is_worked_out_anew() -> None:
    """Node 2 was ranked below a state that went since: now 3 has the least to lose."""
    spots = chain(0, STATE, STATE, STATE)
    trees = Trees(*(replace(spot, rank=-100.0 if spot.id == 2 else spot.rank) for spot in spots))
    for spot in spots:
        if spot.id != 2:
            trees.set_rank(spot.id, rank(trees, spot, partial=True))
    first = lowest(trees, {4}, partial=True)
    assert first is not None
    assert first.id == 3
    assert trees.spots[2].rank > -100


def test_what_is_spared_is_passed_over() -> None:
    trees = Trees(*chain(STATE, STATE))
    first = lowest(trees, (), partial=True)
    assert first is not None
    second = lowest(trees, {first.id}, partial=True)
    assert second is not None
    assert second.id != first.id
    assert lowest(trees, {1, 2}, partial=True) is None
