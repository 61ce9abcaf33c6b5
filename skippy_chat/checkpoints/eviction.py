"""Making room within the byte budget: what saves least prefill work per byte, weighed with its use, goes first.

Invariant: room is made before bytes are written, and making it never needs more than the budget itself. Rows of what
the commit at hand extends are never evicted, nor the newest state on the way to it; the first one and the one before
the newest go last of all. A prefix outlives what hangs below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skippy_chat.checkpoints.holding import BLOCK, Holding, blocks, neighbours
from skippy_chat.checkpoints.rewriting import rewrite
from skippy_chat.checkpoints.shelf import remove
from skippy_chat.checkpoints.types import Kind
from skippy_chat.checkpoints.worth import WORTHLESS, Spot, lowest, rank_anew
from skippy_chat.errors import RecordingStopped

__all__ = ["Evicted", "Holding", "make_room", "neighbours", "spared"]

AT_ONCE = 16
"""Drops in one transaction: few, since its log counts against the budget too."""

REWRITE_SLACK = 32 * BLOCK  # for the table, the index's log and perhaps a folder
NEWEST_STATES = 2  # of a conversation that goes on: to resume at its end, and at the message before


@dataclass(frozen=True, slots=True)
class Evicted:
    """What making room cost."""

    nodes: int = 0
    files: int = 0
    rewritten: int = 0
    states: int = 0

    def plus(self, more: Evicted) -> Evicted:
        """Add up."""
        return Evicted(
            self.nodes + more.nodes,
            self.files + more.files,
            self.rewritten + more.rewritten,
            self.states + more.states,
        )

    def __str__(self) -> str:
        return (
            f"{self.nodes} nodes and {self.states} states dropped, {self.files} files removed,"
            f" {self.rewritten} of them rewritten"
        )


def make_room(holdings: Sequence[Holding], *, need: int, budget: int, fixed: int) -> Evicted:
    """Free space until ``need`` more bytes fit the budget; the writer lock must be held.

    Raises:
        RecordingStopped: what must stay leaves no room for them.
    """
    evicted = Evicted()
    shrunk = False
    spare: list[list[frozenset[int]]] | None = None
    while (used := fixed + sum(each.weight() for each in holdings)) + need > budget:
        if not shrunk:
            shrunk = True
            for each in holdings:
                each.index.shrink()
            continue
        spare = spare or [_spared_by(each) for each in holdings]
        step = _reclaim(holdings, room=budget - used) or _drop_lowest(
            holdings, spare, deficit=used + need - budget
        )
        if step is None:
            raise RecordingStopped(
                f"the checkpoint budget of {budget} bytes has no room for {need} more: {used} are in use.",
                "Raise the disk budget, or run: skippy-chat cache clear",
            )
        evicted = evicted.plus(step)
    return evicted


def spared(spine: Sequence[Spot]) -> tuple[list[Spot], list[Spot]]:
    """Of the states on a path, root first: those that go last of all, and those of them that never go."""
    with_state = [spot for spot in spine if spot.captured]
    return with_state[:1] + with_state[1:][-NEWEST_STATES:], with_state[-1:]


def _spared_by(holding: Holding) -> list[frozenset[int]]:
    """What is spared at first, and what is spared when nothing else is left."""
    tiers = (set(holding.keep), set(holding.keep))
    for anchor in holding.keep:
        for tier, spots in zip(tiers, spared(holding.index.spine(anchor)), strict=True):
            tier |= {spot.id for spot in spots}
    return [frozenset(tier) for tier in tiers]


def _drop_lowest(
    holdings: Sequence[Holding], spare: Sequence[Sequence[frozenset[int]]], *, deficit: int
) -> Evicted | None:
    """Drop from the holding that has the lowest rank; None when nothing may go."""
    for tier in (0, 1):
        ranks = []
        for at, holding in enumerate(holdings):
            with holding.index.transaction():
                spot = lowest(holding.index, spare[at][tier], partial=holding.partial())
            ranks.append(math.inf if spot is None else spot.rank)
        first, *others = sorted(ranks)
        if first < math.inf:
            at = ranks.index(first)
            return _drop_from(holdings[at], spare[at][tier], min(others, default=math.inf), deficit)
    return None


def _drop_from(holding: Holding, spare: frozenset[int], until: float, deficit: int) -> Evicted:
    """Drop what ranks lowest, as long as it ranks below ``until``, to free about ``deficit`` bytes."""
    index, partial = holding.index, holding.partial()
    freed = nodes = states = 0
    with index.transaction():
        while freed < deficit and nodes + states < AT_ONCE:
            spot = lowest(index, spare, partial=partial)
            if spot is None or (spot.rank > until and nodes + states):
                break
            freed += spot.captured
            if spot.children:
                index.drop_blob(spot.id, Kind.STATE)
                index.drop_blob(spot.id, Kind.LOGITS)
                index.set_rank(spot.id, WORTHLESS)  # as rows it is ranked when it is a leaf
                states += 1
            else:
                index.drop_leaf(spot.id)
                rank_anew(index, spot.parent, partial=partial)
                freed += spot.kv
                nodes += 1
        dead = index.drop_dead_segments()
    for name in dead:
        remove(holding.shelf.path(name))
    index.shrink()
    return Evicted(nodes=nodes, files=len(dead), states=states)


def _reclaim(holdings: Sequence[Holding], *, room: int) -> Evicted | None:
    """Rewrite the emptiest half-dead segment whose live part fits into ``room`` bytes; None when there is none."""
    for holding in holdings:
        for segment, name, live in holding.index.half_dead():
            if blocks(live) + REWRITE_SLACK <= room:
                rewrite(holding, segment, name)
                return Evicted(rewritten=1, files=1)
    return None
