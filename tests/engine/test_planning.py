"""Cuts and walks: the same prefix is cut the same way, whatever follows it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.checkpoints.placement import GRID_TOKENS, Cut
from skippy_chat.checkpoints.types import Edge, Mode
from skippy_chat.engine.planning import (
    PlannedEdge,
    Prompt,
    Stretch,
    answer_edges,
    edges_of,
    find,
    remaining,
)
from skippy_chat.engine.schedule import edges_from_runs, runs_of


@dataclass
class MemoryTree:
    """A tree in a dict; ``stateless`` nodes cannot be restored."""

    nodes: dict[tuple[int, Edge], int] = field(default_factory=dict)
    stateless: set[int] = field(default_factory=set)
    with_logits: set[int] = field(default_factory=set)

    def child(self, parent: int | None, edge: Edge) -> int | None:
        return self.nodes.get((parent or 0, edge))

    def restorable(self, node: int, *, at_end: bool) -> bool:
        return node not in self.stateless and (not at_end or node in self.with_logits)

    def add(self, edges: list[PlannedEdge]) -> list[int]:
        parent, added = 0, []
        for planned in edges:
            parent = self.nodes.setdefault((parent, planned.edge), len(self.nodes) + 1)
            added.append(parent)
        return added


def prompt_of(*lengths: int, sampled: dict[int, int] | None = None, seed: int = 0) -> Prompt:
    """A prompt of that many stretches; ``sampled`` maps a stretch to how many of its tokens were generated."""
    stretches, position = [], 0
    for index, length in enumerate(lengths):
        until = (sampled or {}).get(index)
        kind = Cut.GENERATION_PROMPT if index == len(lengths) - 1 else Cut.END_OF_MESSAGE
        fed = None if until is None else position + until
        stretches.append(Stretch(position, position + length, kind, index, fed))
        position += length
    return Prompt(array("i", range(seed, seed + position)), tuple(stretches))


def whole(prompt: Prompt, *, as_generated: bool = False) -> list[PlannedEdge]:
    return remaining(prompt, (), as_generated=as_generated)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=5))
def test_edges_cover_the_prompt_and_never_exceed_a_batch(lengths: list[int]) -> None:
    prompt = prompt_of(*lengths)
    position = 0
    for planned in whole(prompt):
        assert planned.start == position
        assert 0 < planned.stop - planned.start <= GRID_TOKENS
        assert planned.edge.ids == prompt.ids[planned.start : planned.stop].tobytes()
        position = planned.stop
    assert position == len(prompt.ids)


@given(st.lists(st.integers(1, 900), min_size=2, max_size=5))
def test_a_longer_prompt_has_the_cuts_of_its_prefix(lengths: list[int]) -> None:
    short, long = whole(prompt_of(*lengths[:-1])), whole(prompt_of(*lengths))
    assert [planned.edge for planned in long[: len(short)]] == [planned.edge for planned in short]


def test_a_sampled_part_is_single_steps_up_to_where_it_was_fed() -> None:
    prompt = prompt_of(10, 300, sampled={1: 290})
    edges = edges_of(prompt, prompt.stretches[1], as_generated=True)
    assert [(e.start, e.stop, e.mode) for e in edges] == [
        (10, 266, Mode.SINGLE),
        (266, 300, Mode.SINGLE),
        (300, 310, Mode.BATCH),
    ]
    assert edges[1].cut is Cut.END_OF_ANSWER
    as_read = edges_of(prompt, prompt.stretches[1], as_generated=False)
    assert {e.mode for e in as_read} == {Mode.BATCH}


def test_the_deepest_restorable_node_wins_and_the_deepest_known_one_is_told() -> None:
    prompt = prompt_of(100, 600, 5)
    tree = MemoryTree()
    added = tree.add(whole(prompt)[:-1])
    tree.stateless = set(added[1:])
    match = find(tree, prompt)
    assert (match.node, match.position, match.known) == (added[0], 100, 700)


def test_a_node_at_the_very_end_needs_logits() -> None:
    prompt = prompt_of(100, 5)
    tree = MemoryTree()
    added = tree.add(whole(prompt))
    assert find(tree, prompt).position == 100
    tree.with_logits = {added[-1]}
    assert find(tree, prompt).position == 105


def test_an_answer_is_found_as_it_was_generated_before_as_it_was_read() -> None:
    prompt = prompt_of(50, 40, 9, sampled={1: 38})
    tree = MemoryTree()
    read = tree.add(whole(prompt, as_generated=False))
    assert find(tree, prompt).node == read[1]
    generated = tree.add(whole(prompt, as_generated=True))
    match = find(tree, prompt)
    assert match.node == generated[-2]
    assert [planned.mode for planned in match.edges] == [Mode.BATCH, Mode.SINGLE, Mode.BATCH]


def test_a_begun_stretch_is_finished_the_way_it_was_begun_and_later_ones_are_read() -> None:
    prompt = prompt_of(50, 600, 80, sampled={1: 590, 2: 70})
    done = whole(prompt, as_generated=True)[:2]
    assert done[-1].mode is Mode.SINGLE
    modes = [planned.mode for planned in remaining(prompt, done, as_generated=False)]
    assert modes == [Mode.SINGLE, Mode.SINGLE, Mode.BATCH, Mode.BATCH]


def test_growth_of_a_lane_matches_the_next_prompts_plan() -> None:
    prompt = prompt_of(50, 600, 7, sampled={1: 590})
    grown = answer_edges(prompt.ids, 50, 640)
    planned = edges_of(prompt, prompt.stretches[1], as_generated=True)
    assert [e.edge for e in planned[: len(grown)]] == [e.edge for e in grown]


@given(st.lists(st.integers(1, 600), min_size=1, max_size=4), st.booleans())
def test_a_schedule_brings_back_the_edges_it_was_made_of(lengths: list[int], generated: bool) -> None:
    sampled = {1: 1} if len(lengths) > 1 else None
    edges = whole(prompt_of(*lengths, sampled=sampled), as_generated=generated)
    ids = prompt_of(*lengths).ids
    again = edges_from_runs(ids, runs_of(edges))
    assert [(e.start, e.stop, e.mode) for e in again] == [(e.start, e.stop, e.mode) for e in edges]


def test_a_rewritten_message_is_named_where_reading_starts_in_it() -> None:
    plain = prompt_of(10, 20, 30)
    prompt = Prompt(plain.ids, plain.stretches, (1,))
    assert [prompt.rewritten_at(position) for position in (0, 9, 10, 29, 30, 60)] == [
        None,
        None,
        1,
        1,
        None,
        None,
    ]
