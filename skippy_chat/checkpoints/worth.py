"""What a checkpoint is worth, and so which goes first: pure functions, the store's and the simulator's alike.

Invariant: a rank can be kept beside a node and compared years later. Time counts in bytes written: each time the
budget has been written over ``HALF_LIFE`` times, whatever was not used meanwhile is worth half. All decay alike, so
their order changes only when something is used, or when what stands above it comes or goes.

A rank is the binary logarithm of worth, plus the clock when last used. Worth is the prefill work that would have to be
done again, from the nearest place above that can be resumed at, for every byte that dropping it frees; work is weighed
with the model's bytes per token, so that models of different sizes can share one budget.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

from skippy_chat.checkpoints.placement import MIN_SPACING

ATTENTION_TOKENS = 8192
"""Depth at which reading a token costs twice what it costs at the beginning."""

HALF_LIFE = 0.5
"""Times the budget must be written over until what is unused is worth half."""

END = 2.0
"""Added to the rank of what nothing hangs below: a conversation is gone on with more often than it is edited."""

WORTHLESS = -1e6
"""Rank of rows that nothing can be resumed at, for example those below the deepest state."""


@dataclass(frozen=True, slots=True)
class Spot:
    """What a rank depends on: a node, sizes in bytes, 0 for what is not stored; ``aged``: the clock at its last use."""

    id: int
    parent: int
    position: int
    tokens: int
    children: int
    aged: float
    rank: float
    kv: int
    state: int
    logits: int

    @property
    def captured(self) -> int:
        """Bytes of state and logits, which go together."""
        return self.state + self.logits


class Grove(Protocol):
    """The nodes that may go, as whoever keeps them answers for them."""

    def victims(self) -> Iterator[tuple[int, float]]:
        """Yield (id, rank) of leaves and of nodes with a state or logits, lowest rank first."""

    def spot(self, node: int) -> Spot | None:
        """Return a node."""

    def set_rank(self, node: int, rank: float) -> None:
        """Keep a rank beside its node."""


def tick(written: int, budget: int) -> float:
    """How far the clock goes on with so many bytes written."""
    return written / (HALF_LIFE * max(budget, 1))


def work(start: int, stop: int, *, attention: bool) -> float:
    """Prefill work of reading ``[start, stop)``, in tokens read at the beginning."""
    tokens = stop - start
    return tokens * (1 + (start + stop) / (2 * ATTENTION_TOKENS)) if attention else float(tokens)


def rank(grove: Grove, spot: Spot, *, partial: bool) -> float:
    """Rank what would go with ``spot``: its state and logits, and if it is a leaf also the rows only it can use.

    ``partial`` tells a model whose memory can be resumed only where a state is.
    """
    if partial and not spot.state:
        return WORTHLESS
    above, tail = _above(grove, spot) if partial else (spot.position - spot.tokens, spot.kv)
    freed = spot.captured + (0 if spot.children else tail)
    if freed <= 0:
        return WORTHLESS
    per_token = spot.kv / spot.tokens + spot.state / MIN_SPACING
    worth = work(above, spot.position, attention=spot.kv > 0) * max(per_token, 1.0) / freed
    if worth <= 0:
        return WORTHLESS
    return math.log2(worth) + spot.aged + (0.0 if spot.children else END)


def rank_anew(grove: Grove, node: int, *, partial: bool) -> None:
    """Rank a node that may now go: a new one, or one below which all has gone, so that its rows would go with it."""
    spot = grove.spot(node)
    if spot is not None and (spot.captured or not spot.children):
        grove.set_rank(node, rank(grove, spot, partial=partial))


def _above(grove: Grove, spot: Spot) -> tuple[int, int]:
    """Return the position of the nearest state above, and the bytes of rows that only ``spot`` has use for."""
    tail, shared = spot.kv, False
    here = spot
    while (parent := grove.spot(here.parent)) is not None:
        if parent.state:
            return parent.position, tail
        shared = shared or parent.children > 1
        tail += 0 if shared else parent.kv
        here = parent
    return 0, tail


def lowest(grove: Grove, spared: Collection[int], *, partial: bool) -> Spot | None:
    """Find what goes first, apart from ``spared``; None when there is nothing.

    A rank kept beside a node may be too low, because what stood above it went since; so it is worked out anew when its
    turn comes, and kept.
    """
    while True:
        with contextlib.closing(_unspared(grove, spared)) as candidates:
            found = next(candidates, None)
        if found is None:
            return None
        node, kept = found
        spot = grove.spot(node)
        assert spot is not None
        now = rank(grove, spot, partial=partial)
        if now <= kept + 1e-9:
            return spot
        grove.set_rank(node, now)


def _unspared(grove: Grove, spared: Collection[int]) -> Generator[tuple[int, float], None, None]:
    victims = grove.victims()
    yield from (each for each in victims if each[0] not in spared)
