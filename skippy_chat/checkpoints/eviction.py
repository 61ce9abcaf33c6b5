"""Making room within the byte budget: dead space first, then the least recently used leaves, whole, then old states.

Invariant: room is made before bytes are written, and making it never needs more than the budget itself. Rows of what
the commit at hand extends are never evicted, nor the first and the newest states on the way to it; a prefix outlives
what hangs below it.

The budget is the root's: all identities share it, and the oldest leaf of any of them goes first.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.checkpoints.index import BlobAt, Index
from skippy_chat.checkpoints.restore import map_file
from skippy_chat.checkpoints.segment import NodeEntry, Place, Segment, SegmentError, lay_out
from skippy_chat.checkpoints.shelf import FORMAT, Shelf, allocated, remove
from skippy_chat.checkpoints.types import Identity, Kind, Node
from skippy_chat.errors import RecordingStopped

BLOCK = 4096
LEAVES_AT_ONCE = 64
REWRITE_SLACK = 32 * BLOCK  # for the table, the index's log and perhaps a folder
NEWEST_STATES = 2  # of a conversation that goes on: to resume at its end, and at the message before


@dataclass(frozen=True, slots=True)
class Holding:
    """One identity's files and index, in the hands of whoever holds the writer lock."""

    shelf: Shelf
    index: Index
    root_key: bytes
    keep: frozenset[int] = field(default=frozenset())

    def weight(self) -> int:
        """Bytes allocated on disk."""
        return self.shelf.overhead() + self.index.allocated()


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


def blocks(size: int) -> int:
    """Round up to whole disk blocks."""
    return -(-size // BLOCK) * BLOCK


@contextlib.contextmanager
def neighbours(root: Path, own: Shelf) -> Iterator[tuple[list[Holding], int]]:
    """Open the other identities under ``root``; also the bytes of those that cannot be opened, and of the root."""
    holdings: list[Holding] = []
    fixed = sum(allocated(path) for path in (root, root / FORMAT, root / FORMAT / "writer.lock"))
    try:
        for shelf in Shelf.all(root):
            if shelf.home == own.home:
                continue
            holding = _neighbour(shelf)
            if holding is None:
                fixed += sum(allocated(path) for path in (shelf.home, *shelf.home.rglob("*")))
            else:
                holdings.append(holding)
        yield holdings, fixed
    finally:
        for each in holdings:
            each.index.close()


def _neighbour(shelf: Shelf) -> Holding | None:
    if not shelf.index.exists():
        return None
    index = None
    try:
        root_key = Identity(shelf.identity).root_key
        index = Index(shelf.index)
        index.check(root_key)
        return Holding(shelf, index, root_key)
    except sqlite3.Error:
        if index is not None:
            index.close()
        return None


def make_room(
    holdings: Sequence[Holding], *, need: int, budget: int, fixed: int, reserve: int = 0
) -> Evicted:
    """Free space until ``need`` more bytes fit the budget; the writer lock must be held.

    ``reserve`` bytes more are freed as far as old states give them: without spare room no file could be rewritten
    later, and the space of what was dropped from it never be had back.

    Raises:
        RecordingStopped: what must stay leaves no room for them.
    """
    evicted = Evicted()
    shrunk = False
    while (used := fixed + sum(each.weight() for each in holdings)) + need + reserve > budget:
        if not shrunk:
            shrunk = True
            for each in holdings:
                each.index.shrink()
            continue
        deficit = used + need - budget
        step = (
            _reclaim(holdings, spare=budget - used)
            or (_drop_oldest(holdings, deficit=deficit) if deficit > 0 else None)
            or _drop_state(holdings)
        )
        if step is None and deficit <= 0:
            break
        if step is None:
            raise RecordingStopped(
                f"the checkpoint budget of {budget} bytes has no room for {need} more: {used} are in use.",
                "Raise the disk budget, or run: skippy-chat cache clear",
            )
        evicted = evicted.plus(step)
    return evicted


def spare_states(lineage: Sequence[Node]) -> list[Node]:
    """Return the nodes of a path, root first, whose states may go: all but the first and the newest."""
    with_state = [node for node in lineage if node.has_state]
    return with_state[1:-NEWEST_STATES]


def _drop_state(holdings: Sequence[Holding]) -> Evicted | None:
    """Drop one state, with its logits, from the way to what is being extended, the oldest first."""
    for holding in holdings:
        index = holding.index
        for anchor in sorted(holding.keep, reverse=True):
            for node in spare_states([node for node, _ in index.lineage(anchor)]):
                with index.transaction():
                    index.drop_blob(node.id, Kind.STATE)
                    index.drop_blob(node.id, Kind.LOGITS)
                    dead = index.drop_dead_segments()
                for name in dead:
                    remove(holding.shelf.path(name))
                index.shrink()
                return Evicted(files=len(dead), states=1)
    return None


def _drop_oldest(holdings: Sequence[Holding], *, deficit: int) -> Evicted | None:
    """Drop leaves of the holding with the oldest one; None when nothing may go."""
    ages = [(leaf[1], at) for at, each in enumerate(holdings) if (leaf := _oldest_leaf(each)) is not None]
    if not ages:
        return None
    holding = holdings[min(ages)[1]]
    index, freed, nodes = holding.index, 0, 0
    with index.transaction():
        while freed < deficit and nodes < LEAVES_AT_ONCE:
            leaf = _oldest_leaf(holding)
            if leaf is None:
                break
            freed += sum(at.size for kind in Kind if (at := index.blob(leaf[0], kind)) is not None)
            index.drop_leaf(leaf[0])
            nodes += 1
        dead = index.drop_dead_segments()
    for name in dead:
        remove(holding.shelf.path(name))
    index.shrink()
    return Evicted(nodes=nodes, files=len(dead))


def _oldest_leaf(holding: Holding) -> tuple[int, float] | None:
    with contextlib.closing(holding.index.oldest_leaves()) as leaves:
        return next((leaf for leaf in leaves if leaf[0] not in holding.keep), None)


def _reclaim(holdings: Sequence[Holding], *, spare: int) -> Evicted | None:
    """Rewrite the emptiest half-dead segment whose live part fits into ``spare`` bytes; None when there is none."""
    for holding in holdings:
        for segment, name, live in holding.index.half_dead():
            if blocks(live) + REWRITE_SLACK <= spare:
                rewrite(holding, segment, name)
                return Evicted(rewritten=1, files=1)
    return None


@dataclass(slots=True)
class Salvage:
    """What of a segment is live: proven blobs in file order, their nodes, and what proved damaged."""

    nodes: dict[bytes, NodeEntry] = field(default_factory=dict)
    blobs: list[tuple[Place, Kind, memoryview]] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    lost: list[tuple[int, Kind]] = field(default_factory=list)


def rewrite(holding: Holding, segment: int, name: str) -> None:
    """Copy a segment's live blobs, proven, into a new one; what proves damaged is dropped with all below it."""
    index, shelf = holding.index, holding.shelf
    found = _salvage(holding, segment, name)
    layout = lay_out(holding.root_key, list(found.nodes.values()), found.blobs)
    path = None
    if found.blobs:
        pieces: list[tuple[int, bytes | memoryview]] = [(0, layout.head)]
        pieces += [(e.offset, data) for e, (_, _, data) in zip(layout.blobs, found.blobs, strict=True)]
        path = shelf.write(layout.name, pieces)
    try:
        with index.transaction():
            if path is not None:
                fresh = index.add_segment(layout.name, allocated(path), sum(e.size for e in layout.blobs))
                for owner, entry in zip(found.owners, layout.blobs, strict=True):
                    index.move_blob(owner, entry.kind, fresh, entry.offset)
            for owner, kind in found.lost:
                index.drop_damaged(owner, kind)
            dead = index.drop_dead_segments()
    except BaseException:
        if path is not None:
            remove(path)
        raise
    for each in dead:
        remove(shelf.path(each))
    index.shrink()


def _salvage(holding: Holding, segment: int, name: str) -> Salvage:
    found = Salvage()
    old = _open(holding, name)
    for node, parent_key, ids, kind, at in holding.index.blobs_of(segment):
        place = Place(node.key, parent_key or holding.root_key, node.position, node.tokens, node.mode)
        payload = None if old is None else _proven(old, place, kind, at)
        if payload is None:
            found.lost.append((node.id, kind))
        else:
            found.nodes.setdefault(node.key, NodeEntry(place, ids))
            found.blobs.append((place, kind, payload))
            found.owners.append(node.id)
    return found


def _proven(old: Segment, place: Place, kind: Kind, at: BlobAt) -> memoryview | None:
    try:
        return old.payload(old.expect(place, kind, at.offset, at.size))
    except SegmentError:
        return None


def _open(holding: Holding, name: str) -> Segment | None:
    try:
        view = memoryview(map_file(holding.shelf.path(name)))
        return Segment(view, name=name, root_key=holding.root_key)
    except (SegmentError, FileNotFoundError):
        return None
