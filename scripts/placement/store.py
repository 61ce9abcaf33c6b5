"""A checkpoint store of numbers: the tree, its bytes and its order of going, without any contents.

Invariant: what is held never exceeds the budget, and what a turn extends, with the newest state on the way to it, never
goes for it, whatever the policy.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scripts.placement.traces import Edge, Turn
from skippy_chat.checkpoints.placement import Costs
from skippy_chat.checkpoints.worth import Spot, work

ROOT = 0


@dataclass(frozen=True, slots=True)
class Model:
    """What a model's checkpoints weigh, in bytes."""

    name: str
    state: int
    row: int
    logits: int

    @property
    def partial(self) -> bool:
        """Whether it can be resumed only where a state is."""
        return self.state > 0


@dataclass(slots=True)
class Node:
    """A checkpoint; sizes in bytes, ``aged`` and ``rank`` as the policy has them."""

    id: int
    parent: int
    label: int
    position: int
    tokens: int
    kv: int
    children: int = 0
    state: int = 0
    logits: int = 0
    used: int = 0
    aged: float = 0.0
    rank: float = 0.0


class Policy(Protocol):
    """Which states are taken, and what goes first."""

    name: str

    def place(
        self, turn: Turn, first: int, costs: Costs, *, start: int, above: int, diverged: int
    ) -> Collection[int]:
        """Return the positions of states in the prompt from edge ``first`` on, which begins at ``start``."""

    def place_in_answer(self, turn: Turn, costs: Costs, *, since: int) -> Collection[int]:
        """Return the positions of states in the answer; the last one was taken ``since`` tokens before it."""

    def rank(self, store: Store, spot: Spot) -> float:
        """Rank what may go: the lowest goes first."""

    def lowest(self, store: Store, spared: Collection[int]) -> Spot | None:
        """Find what goes first."""

    def committed(self, store: Store, path: Sequence[int], written: int) -> None:
        """Take note of a commit at the end of ``path``."""


@dataclass(slots=True)
class Tally:
    """What a run came to, in tokens, work and bytes."""

    turns: int = 0
    prompt: int = 0
    cached: int = 0
    work: float = 0.0
    saved: float = 0.0
    written: int = 0
    needed: int = 0
    peak: int = 0
    refused: int = 0


@dataclass
class Store:
    """The tree of one model."""

    model: Model
    budget: int
    policy: Policy
    nodes: dict[int, Node] = field(default_factory=dict)
    below: dict[tuple[int, int], int] = field(default_factory=dict)
    held: int = 0
    steps: int = 0
    lane: list[int] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _heap: list[tuple[float, int]] = field(default_factory=list)
    _next: int = 1

    # As a grove, for the product's own functions.

    def victims(self) -> Iterator[tuple[int, float]]:
        """Yield (id, rank) of what may go, lowest rank first."""
        passed = []
        try:
            while self._heap:
                rank, node = entry = heapq.heappop(self._heap)
                here = self.nodes.get(node)
                if here is None or here.rank != rank or (here.children and not here.state + here.logits):
                    continue
                passed.append(entry)
                yield node, rank
        finally:
            for entry in passed:
                heapq.heappush(self._heap, entry)

    def spot(self, node: int) -> Spot | None:
        """Return a node as policies see it."""
        n = self.nodes.get(node)
        if n is None:
            return None
        return Spot(n.id, n.parent, n.position, n.tokens, n.children, n.aged, n.rank, n.kv, n.state, n.logits)

    def set_rank(self, node: int, rank: float) -> None:
        """Keep a rank beside its node."""
        self.nodes[node].rank = rank
        heapq.heappush(self._heap, (rank, node))

    def rank_anew(self, node: int) -> None:
        """Have the policy rank a node, if it may go."""
        spot = self.spot(node)
        if spot is not None and (spot.captured or not spot.children):
            self.set_rank(node, self.policy.rank(self, spot))

    # A turn.

    def take(self, turn: Turn) -> None:
        """Answer one prompt as the engine would and record it."""
        self.steps += 1
        path, restorable, in_lane = self._walk(turn)
        live = 0 if turn.fresh else self._live(turn)
        position = max(restorable, live)
        known = self.nodes[path[-1]].position if path else 0
        self._count(turn, position)
        if restorable and restorable > live:
            self._use(path[: in_lane + 1])
        first, start = _edge_at(turn.prompt, position)
        costs = Costs(self.model.state, self.model.row, self.budget)
        above = max((self.nodes[n].position for n in path if self.nodes[n].state), default=0)
        chosen = self.policy.place(
            turn,
            first,
            costs,
            start=start,
            above=min(above, position),
            diverged=known if known > position else 0,
        )
        ends = self._record(ROOT, 0, turn.prompt, chosen if self.model.partial else (), logits=True)
        self.lane = [edge.label for edge in (*turn.prompt, *turn.answer)]
        if ends is None:
            return
        since = turn.tokens - max([*chosen, above])
        chosen = self.policy.place_in_answer(turn, costs, since=since)
        self._record(ends, turn.tokens, turn.answer, chosen if self.model.partial else (), logits=False)

    def _walk(self, turn: Turn) -> tuple[list[int], int, int]:
        """Return the known nodes, the deepest position to restore, and its place among them."""
        path: list[int] = []
        here, best, at = ROOT, 0, -1
        for number, edge in enumerate(turn.prompt):
            child = self.below.get((here, edge.label))
            if child is None:
                break
            path.append(child)
            node = self.nodes[child]
            last = number == len(turn.prompt) - 1
            if (node.state or not self.model.partial) and (node.logits or not last):
                best, at = node.position, number
            here = child
        return path, best, at

    def _live(self, turn: Turn) -> int:
        """How much of the prompt the lane holds, in a form it can go on from."""
        shared = tokens = 0
        for label, edge in zip(self.lane, turn.prompt[:-1], strict=False):
            if label != edge.label:
                break
            shared += 1
            tokens += edge.tokens
        return tokens if shared == len(self.lane) or not self.model.partial else 0

    def _count(self, turn: Turn, cached: int) -> None:
        tally, whole = self.tally, turn.tokens
        tally.turns += 1
        tally.prompt += whole
        tally.cached += cached
        tally.work += work(0, whole, attention=self.model.row > 0)
        tally.saved += work(0, cached, attention=self.model.row > 0)

    def _use(self, path: Sequence[int]) -> None:
        self.nodes[path[-1]].used = self.steps
        self.policy.committed(self, path, 0)

    def _record(
        self, parent: int, start: int, edges: Sequence[Edge], states: Collection[int], *, logits: bool
    ) -> int | None:
        """Add what is new of a path; return its last node, or None when there is no room for it."""
        here, position = parent, start
        need = 0
        fresh: list[tuple[Edge, int]] = []
        late: list[int] = []
        for edge in edges:
            position += edge.tokens
            child = None if fresh else self.below.get((here, edge.label))
            if child is None:
                fresh.append((edge, position))
                need += edge.tokens * self.model.row
                need += self.model.state if position in states else 0
                continue
            here = child
            if position in states and not self.nodes[child].state:
                late.append(child)
                need += self.model.state
        new_logits = logits and (bool(fresh) or not self.nodes[here].logits)
        need += self.model.logits if new_logits else 0
        if not self._make_room(need, here):
            self.tally.refused += 1
            return None
        for node in late:
            self.nodes[node].state = self.model.state
        for edge, at in fresh:
            here = self._add(here, edge, at, state=at in states)
        if new_logits:
            self.nodes[here].logits = self.model.logits
        self.held += need
        self.tally.written += need
        self.tally.peak = max(self.tally.peak, self.held)
        self._settle(here, [*late, here], len(fresh), need)
        return here

    def _add(self, parent: int, edge: Edge, position: int, *, state: bool) -> int:
        node = Node(self._next, parent, edge.label, position, edge.tokens, edge.tokens * self.model.row)
        node.state = self.model.state if state else 0
        self._next += 1
        self.nodes[node.id] = node
        self.below[parent, edge.label] = node.id
        if parent != ROOT:
            self.nodes[parent].children += 1
        return node.id

    def _settle(self, end: int, changed: Sequence[int], fresh: int, written: int) -> None:
        path = self.path(end)
        for node in {*path[len(path) - fresh - 1 :], *changed}:
            self.nodes[node].used = self.steps
        self.policy.committed(self, path, written)
        for node in dict.fromkeys((*path[max(0, len(path) - fresh - 1) :], *changed)):
            self.rank_anew(node)

    def path(self, node: int) -> list[int]:
        """The nodes from the root to ``node``."""
        line = []
        while node != ROOT:
            line.append(node)
            node = self.nodes[node].parent
        return line[::-1]

    # Making room.

    def _make_room(self, need: int, anchor: int) -> bool:
        if self.held + need <= self.budget:
            return True
        path = self.path(anchor)
        with_state = [n for n in path if self.nodes[n].state or self.nodes[n].logits]
        kept = sum(self.nodes[n].kv for n in path)
        kept += sum(self.nodes[n].state + self.nodes[n].logits for n in with_state[-1:])
        if need + kept > self.budget:
            return False
        for spared in (
            {anchor, *with_state[:1], *with_state[-2:]},
            {anchor, *with_state[-1:]},
        ):
            while self.held + need > self.budget:
                spot = self.policy.lowest(self, spared)
                if spot is None:
                    break
                self.drop(spot.id, anchor)
        return self.held + need <= self.budget

    def drop(self, node: int, anchor: int) -> None:
        """Let go of a state with its logits; of a leaf also the rows, up to where they are used otherwise."""
        here = self.nodes[node]
        self.held -= here.state + here.logits
        here.state = here.logits = 0
        while not here.children and here.id != anchor:
            self.held -= here.kv
            del self.nodes[here.id], self.below[here.parent, here.label]
            if here.parent == ROOT:
                return
            above = self.nodes[here.parent]
            above.children -= 1
            above.aged = max(above.aged, here.aged) if not above.state + above.logits else above.aged
            if above.state or not self.model.partial:
                self.rank_anew(above.id)
                return
            here = above


def _edge_at(prompt: Sequence[Edge], position: int) -> tuple[int, int]:
    at = 0
    for number, edge in enumerate(prompt):
        if at >= position:
            return number, at
        at += edge.tokens
    return len(prompt), at
