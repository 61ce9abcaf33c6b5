"""Rewriting a segment that is more than half dead: its live blobs, proven, go into a new file.

Invariant: what proves damaged is not carried along, but dropped with all that cannot be used without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from skippy_chat.checkpoints.holding import Holding
from skippy_chat.checkpoints.index import BlobAt
from skippy_chat.checkpoints.restore import map_file
from skippy_chat.checkpoints.segment import NodeEntry, Place, Segment, SegmentError, lay_out
from skippy_chat.checkpoints.shelf import allocated, remove
from skippy_chat.checkpoints.types import Kind


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
