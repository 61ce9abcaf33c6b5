"""The gate's own idea of what can be reused, on made-up replies."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from skippy_chat.engine.protocol import StepReply
from skippy_chat.gate.tree import Reach, Tree, cuts

Runs = Sequence[tuple[int, bool]]


def reply(ids: Sequence[int], prompt: int, schedule: Runs) -> StepReply:
    return StepReply("", "length", array("i", ids), prompt, list(schedule))


SYSTEM, ALPHA, BETA = list(range(100, 110)), [1, 2, 3], [4, 5, 6]
FIRST = reply([*SYSTEM, *ALPHA, 50, 51], 13, [(10, False), (3, False), (1, True)])


def test_nothing_is_known_at_first() -> None:
    assert Tree().reach(FIRST) == Reach(0, 0)


def test_the_same_prompt_is_known_to_its_end() -> None:
    tree = Tree()
    tree.add(FIRST)
    assert tree.reach(FIRST) == Reach(13, 13)


def test_a_changed_tail_shares_the_last_cut_before_it_and_must_have_a_state_there_the_second_time() -> None:
    tree = Tree()
    tree.add(FIRST)
    beta = reply([*SYSTEM, *BETA, 60], 13, [(10, False), (3, False)])
    assert tree.reach(beta) == Reach(10, 0)
    tree.add(beta)
    gamma = reply([*SYSTEM, 7, 8, 9, 60], 13, [(10, False), (3, False)])
    assert tree.reach(gamma) == Reach(10, 10)


def test_ids_inside_an_edge_are_of_no_use() -> None:
    tree = Tree()
    tree.add(FIRST)
    longer = reply([*SYSTEM, *ALPHA, 9, 60], 14, [(10, False), (4, False)])
    assert tree.reach(longer).deepest == 10


def test_the_same_ids_fed_in_another_way_are_not_the_same() -> None:
    tree = Tree()
    tree.add(FIRST)
    as_read = reply([*SYSTEM, *ALPHA, 50, 70, 60], 15, [(10, False), (3, False), (2, False)])
    as_generated = reply([*SYSTEM, *ALPHA, 50, 70, 60], 15, [(10, False), (3, False), (1, True), (1, False)])
    assert tree.reach(as_read) == Reach(13, 13)
    assert tree.reach(as_generated) == Reach(14, 14)


def test_the_end_of_a_prompt_that_was_never_asked_has_no_logits() -> None:
    tree = Tree()
    tree.add(FIRST)
    only_system = reply([*SYSTEM, 60], 10, [(10, False)])
    assert tree.reach(only_system).deepest == 0
    tree.add(only_system)
    assert tree.reach(only_system) == Reach(10, 10)


def test_long_runs_are_cut_every_256_tokens_from_their_start() -> None:
    ids = array("i", range(700))
    assert [at for at, _ in cuts(ids, [(100, False), (600, True)])] == [100, 356, 612, 700]
    other = array("i", ids)
    other[400] = 0
    pairs = zip(cuts(ids, [(100, False), (600, True)]), cuts(other, [(100, False), (600, True)]), strict=True)
    assert [mine == theirs for mine, theirs in pairs] == [True, True, False, False]
