"""Policies to compare: the product's, and what others do, as far as a tree of cuts can show it."""

# ruff: noqa: ARG002 - a policy need not look at all it is told

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass

from scripts.placement.store import Store
from scripts.placement.traces import Turn
from skippy_chat.checkpoints import worth
from skippy_chat.checkpoints.placement import Costs, Cut, place, wanted_in_answer
from skippy_chat.checkpoints.worth import Spot


def cuts_of(turn: Turn, first: int, start: int) -> list[tuple[int, Cut]]:
    """Positions and kinds of the cuts that are still to be read."""
    cuts = []
    for edge in turn.prompt[first:]:
        start += edge.tokens
        cuts.append((start, edge.cut))
    return cuts


def end_of_answer(turn: Turn) -> int:
    """Position at the end of the answer."""
    return turn.tokens + sum(edge.tokens for edge in turn.answer)


@dataclass
class Ours:
    """What the product does, by its own functions."""

    name: str = "ours"

    def place(
        self, turn: Turn, first: int, costs: Costs, *, start: int, above: int, diverged: int
    ) -> Collection[int]:
        """As the engine does."""
        return place(cuts_of(turn, first, start), costs, above=above, diverged=diverged)

    def place_in_answer(self, turn: Turn, costs: Costs, *, since: int) -> Collection[int]:
        """As the engine does."""
        chosen, position = set(), turn.tokens
        for edge in turn.answer:
            position += edge.tokens
            since += edge.tokens
            if edge.cut is Cut.END_OF_ANSWER or wanted_in_answer(costs, since):
                chosen.add(position)
                since = 0
        return chosen

    def rank(self, store: Store, spot: Spot) -> float:
        """As the store does."""
        return worth.rank(store, spot, partial=store.model.partial)

    def lowest(self, store: Store, spared: Collection[int]) -> Spot | None:
        """As the store does."""
        return worth.lowest(store, spared, partial=store.model.partial)

    def committed(self, store: Store, path: Sequence[int], written: int) -> None:
        """Put the clock on, and use what was met and extended, and the first state on the way to it."""
        self.clock = getattr(self, "clock", 0.0) + worth.tick(written, store.budget) + 1e-6
        used = [node for node in path if store.nodes[node].used == store.steps]
        used += [node for node in path if store.nodes[node].state][:1]
        for node in used:
            here = store.nodes[node]
            store.set_rank(node, here.rank + self.clock - here.aged)
            here.aged = self.clock


@dataclass
class Lru(Ours):
    """The product's states, and the least recently used goes first."""

    name: str = "least recently used"

    def rank(self, store: Store, spot: Spot) -> float:
        """Order by last use."""
        return float(store.nodes[spot.id].used)

    def lowest(self, store: Store, spared: Collection[int]) -> Spot | None:
        """Find the least recently used."""
        while True:
            with contextlib.closing(_unspared(store, spared)) as candidates:
                found = next(candidates, None)
            if found is None:
                return None
            spot = store.spot(found[0])
            assert spot is not None
            now = self.rank(store, spot)
            if now <= found[1]:
                return spot
            store.set_rank(spot.id, now)

    def committed(self, store: Store, path: Sequence[int], written: int) -> None:
        """Nothing more than the use noted beside each node."""


@dataclass
class ReplayLength(Lru):
    """The product's states; what saves least work per byte goes first, however long ago it was used."""

    name: str = "replay length per byte"

    def rank(self, store: Store, spot: Spot) -> float:
        """Order by work per byte."""
        return worth.rank(store, spot, partial=store.model.partial) - spot.aged


@dataclass
class SecondPoint(Lru):
    """A state at the end of the prompt and one at the last multiple of 128 before it, and the end of the answer.

    That multiple need not be a cut; here it is the last cut at or before it.
    """

    name: str = "128-grid second point"

    def place(
        self, turn: Turn, first: int, costs: Costs, *, start: int, above: int, diverged: int
    ) -> Collection[int]:
        """Take the end and the point before it."""
        cuts = [stop for stop, _ in cuts_of(turn, first, start)]
        if not cuts:
            return ()
        point = (cuts[-1] - 1) // 128 * 128
        return {cuts[-1], *[stop for stop in cuts if stop <= point][-1:]}

    def place_in_answer(self, turn: Turn, costs: Costs, *, since: int) -> Collection[int]:
        """Take the end."""
        return {end_of_answer(turn)}


@dataclass
class LastStates(Lru):
    """A state at every boundary, the newest eight of a conversation kept."""

    name: str = "last 8 states"
    count: int = 8

    def place(
        self, turn: Turn, first: int, costs: Costs, *, start: int, above: int, diverged: int
    ) -> Collection[int]:
        """Take every boundary."""
        return {stop for stop, cut in cuts_of(turn, first, start) if cut is not Cut.GRID}

    def place_in_answer(self, turn: Turn, costs: Costs, *, since: int) -> Collection[int]:
        """Take the end."""
        return {end_of_answer(turn)}

    def committed(self, store: Store, path: Sequence[int], written: int) -> None:
        """Let go of all but the newest."""
        if written:
            for node in [node for node in path if store.nodes[node].state][: -self.count]:
                store.held -= store.nodes[node].state + store.nodes[node].logits
                store.nodes[node].state = store.nodes[node].logits = 0


@dataclass
class Marconi(SecondPoint):
    """States where a prompt branches off and at the end of the answer; recency plus FLOPs per byte decide who goes.

    Both are scaled to 0..1 over all that may go, and ``alpha`` weighs the second; interior nodes go while they have no
    more than one child. To bound the time of a run, everything is scored anew only when a 64th of the budget is needed.
    """

    name: str = "Marconi"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        self._queue: list[int] = []

    def place(
        self, turn: Turn, first: int, costs: Costs, *, start: int, above: int, diverged: int
    ) -> Collection[int]:
        """Take the point where the prompt leaves the tree."""
        return {diverged} if diverged else ()

    def lowest(self, store: Store, spared: Collection[int]) -> Spot | None:
        """Find the lowest score."""
        for attempt in (0, 1):
            while self._queue:
                node = self._queue.pop()
                spot = store.spot(node)
                if spot is not None and node not in spared and (spot.captured or not spot.children):
                    return spot
            if attempt == 0:
                self._queue = self._scored(store)
        return None

    def _scored(self, store: Store) -> list[int]:
        spots = [
            spot
            for node in store.nodes.values()
            if node.children <= 1
            and (node.state or node.logits or not node.children)
            and (spot := store.spot(node.id)) is not None
        ]
        if not spots:
            return []
        efficiency = [
            2.0 ** max(-60.0, worth.rank(store, spot, partial=store.model.partial) - spot.aged)
            for spot in spots
        ]
        most = max(efficiency) or 1.0
        oldest = min(store.nodes[spot.id].used for spot in spots)
        span = max(1, store.steps - oldest)
        scored = sorted(
            (
                (store.nodes[spot.id].used - oldest) / span + self.alpha * each / most,
                spot.id,
                spot.captured + (0 if spot.children else spot.kv),
            )
            for spot, each in zip(spots, efficiency, strict=True)
        )
        freed, queue = 0, []
        for _, node, size in scored:
            queue.append(node)
            freed += size
            if freed > store.budget // 64 and len(queue) > 8:
                break
        return queue[::-1]


def _unspared(store: Store, spared: Collection[int]) -> Generator[tuple[int, float], None, None]:
    yield from (each for each in store.victims() if each[0] not in spared)


POLICIES = {each.name: each for each in (Ours, Lru, ReplayLength, SecondPoint, LastStates, Marconi)}
