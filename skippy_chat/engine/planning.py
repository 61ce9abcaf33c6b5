"""Where a prompt is cut, and how much of it a tree of checkpoints already holds: pure functions.

Invariant: a cut at position ``p`` depends only on the tokens and messages before ``p``, so the cuts of a shared
prefix are the same for every prompt that has it, with the cache on or off.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from skippy_chat.checkpoints.placement import GRID_TOKENS, Cut
from skippy_chat.checkpoints.types import Edge, Mode


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens ``[start, stop)`` between two message boundaries.

    ``sampled_until``: the first tokens of the stretch, up to there, were once generated one by one. ``cut`` is the
    kind of boundary at ``stop``, ``message`` the index of the message the stretch belongs to.
    """

    start: int
    stop: int
    cut: Cut
    message: int
    sampled_until: int | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The ids of one request and their stretches, which cover them without a gap."""

    ids: array[int]
    stretches: tuple[Stretch, ...]
    rewritten: tuple[int, ...] = ()
    """Indices of messages whose recorded answer the template no longer shows as it was."""

    def __post_init__(self) -> None:
        position = 0
        for stretch in self.stretches:
            assert stretch.start == position < stretch.stop, "stretches must follow each other"
            position = stretch.stop
        assert position == len(self.ids), "stretches must cover the prompt"

    def message_at(self, position: int) -> int | None:
        """Return the index of the message that the token at ``position`` belongs to."""
        for stretch in self.stretches:
            if position < stretch.stop:
                return stretch.message
        return None

    @property
    def answered(self) -> bool:
        """Whether an answer of this model is in it, so that what comes before that was read once."""
        return any(stretch.sampled_until for stretch in self.stretches)

    def rewritten_at(self, position: int) -> int | None:
        """Return the message of the token at ``position`` if the template rewrote it: the cause of a miss there."""
        message = self.message_at(position)
        return message if message in self.rewritten else None


@dataclass(frozen=True, slots=True)
class PlannedEdge:
    """One canonical cut to the next: tokens ``[start, stop)``, and what kind of cut ends it."""

    start: int
    stop: int
    mode: Mode
    cut: Cut
    edge: Edge


def edges_of(prompt: Prompt, stretch: Stretch, *, as_generated: bool) -> list[PlannedEdge]:
    """Return a stretch's edges; a sampled part is single steps if ``as_generated``, else read like any text."""
    edges: list[PlannedEdge] = []
    position = stretch.start
    if as_generated and stretch.sampled_until is not None:
        stop = stretch.sampled_until
        last = Cut.END_OF_ANSWER if stop < stretch.stop else stretch.cut
        edges += _grid(prompt.ids, position, stop, Mode.SINGLE, last)
        position = stop
    return edges + list(_grid(prompt.ids, position, stretch.stop, Mode.BATCH, stretch.cut))


def answer_edges(ids: array[int], start: int, stop: int) -> list[PlannedEdge]:
    """Return the edges of an answer that was generated one by one at ``[start, stop)``."""
    return list(_grid(ids, start, stop, Mode.SINGLE, Cut.END_OF_ANSWER))


def _grid(ids: array[int], start: int, stop: int, mode: Mode, last: Cut) -> Iterator[PlannedEdge]:
    while start < stop:
        end = min(start + GRID_TOKENS, stop)
        cut = last if end == stop else Cut.GRID
        yield PlannedEdge(start, end, mode, cut, Edge.of(ids[start:end], mode))
        start = end


NodeT = TypeVar("NodeT")


class Tree(Protocol[NodeT]):
    """Anything that can be walked edge by edge from its root (None)."""

    def child(self, parent: NodeT | None, edge: Edge) -> NodeT | None:
        """Return the node that ``edge`` leads to, ids and mode compared, or None."""

    def restorable(self, node: NodeT, *, at_end: bool) -> bool:
        """Return whether the lane can be put at ``node``; ``at_end``: without reading a token after it."""


@dataclass(frozen=True, slots=True)
class Match(Generic[NodeT]):
    """How far a prompt is known.

    ``edges`` lead from the root to ``node``, the deepest restorable node (position ``position``); ``known`` is the
    deepest position whose edges the tree has, ``known_node`` the node there.
    """

    node: NodeT | None
    position: int
    edges: tuple[PlannedEdge, ...]
    known: int
    known_node: NodeT | None


def find(tree: Tree[NodeT], prompt: Prompt, *, always_as_generated: bool = False) -> Match[NodeT]:
    """Walk ``tree`` along ``prompt`` and return the deepest match."""
    best: Match[NodeT] = Match(None, 0, (), 0, None)
    for node, walked in walk(tree, prompt, always_as_generated=always_as_generated):
        best = _better(tree, best, node, walked, len(prompt.ids))
    return best


def walk(
    tree: Tree[NodeT], prompt: Prompt, *, always_as_generated: bool = False
) -> Iterator[tuple[NodeT, Sequence[PlannedEdge]]]:
    """Yield every node that ``tree`` has along ``prompt`` and the edges to it, an answer as generated before as read.

    The edges are good only until the next node is asked for.
    """
    stack: list[tuple[int, NodeT | None, tuple[PlannedEdge, ...]]] = [(0, None, ())]
    while stack:
        index, node, path = stack.pop()
        if index == len(prompt.stretches):
            continue
        stretch = prompt.stretches[index]
        choices = (True,) if stretch.sampled_until is None or always_as_generated else (False, True)
        for as_generated in choices:  # pushed last, explored first: as generated
            here, walked = node, list(path)
            complete = True
            for planned in edges_of(prompt, stretch, as_generated=as_generated):
                below = tree.child(here, planned.edge)
                if below is None:
                    complete = False
                    break
                here = below
                walked.append(planned)
                yield here, walked
            if complete:
                stack.append((index + 1, here, tuple(walked)))


def _better(
    tree: Tree[NodeT], best: Match[NodeT], node: NodeT, walked: Sequence[PlannedEdge], end: int
) -> Match[NodeT]:
    position = walked[-1].stop
    known, known_node = best.known, best.known_node
    if position > known:
        known, known_node = position, node
    # An equal position found later was reached as generated: it is what was really computed.
    if position >= best.position and tree.restorable(node, at_end=position == end):
        return Match(node, position, tuple(walked), known, known_node)
    return Match(best.node, best.position, best.edges, known, known_node)


def remaining(prompt: Prompt, done: Sequence[PlannedEdge], *, as_generated: bool) -> list[PlannedEdge]:
    """Return the edges still to be computed after ``done``.

    A stretch that was begun is finished the way it was begun; later ones follow ``as_generated``.
    """
    position = done[-1].stop if done else 0
    result: list[PlannedEdge] = []
    for stretch in prompt.stretches:
        if stretch.stop <= position:
            continue
        begun = [planned for planned in done if planned.start >= stretch.start]
        way = any(planned.mode is Mode.SINGLE for planned in begun) if begun else as_generated
        result += [
            planned for planned in edges_of(prompt, stretch, as_generated=way) if planned.start >= position
        ]
    return result
