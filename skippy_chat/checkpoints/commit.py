"""Committing a recording: plan against the index, make room, write one file, show it in one transaction.

Invariant: the file is durable before the index shows it; a failure at any step shows nothing and leaves no file, and
a crash at any step leaves at most a stray that the next opening sweeps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from skippy_chat.checkpoints.eviction import (
    BLOCK,
    Evicted,
    Holding,
    blocks,
    make_room,
    neighbours,
    spare_states,
)
from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.checkpoints.segment import Layout, NodeEntry, Place, lay_out
from skippy_chat.checkpoints.shelf import Shelf, allocated, remove
from skippy_chat.checkpoints.types import ROOT, Kind, Node, Recorded
from skippy_chat.errors import RecordingStopped

LOG_BYTES = 1 << 20
"""Size of the index's write-ahead log at which it is folded back into the index."""

RESERVE_PART = 4
"""At most this part of the budget is kept free for rewriting files."""


@dataclass(slots=True)
class Plan:
    """What of a recording is new: nodes in order, then blobs with the key of the node each belongs to."""

    known: dict[bytes, int] = field(default_factory=dict)  # key → row id of nodes the index has
    keep: set[int] = field(default_factory=set)  # row ids that must not be evicted, nor so what is above them
    fresh: set[bytes] = field(default_factory=set)  # keys of ``nodes``
    nodes: list[NodeEntry] = field(default_factory=list)
    blobs: list[tuple[Place, Kind, memoryview]] = field(default_factory=list)
    position: int = 0

    def payload(self) -> int:
        """Bytes of all new blobs."""
        return sum(len(data) for _, _, data in self.blobs)


@dataclass(frozen=True, slots=True)
class Committer:
    """Commits recordings into one identity's store; the writer lock must be held."""

    root: Path
    shelf: Shelf
    index: Index
    root_key: bytes
    budget: int
    now: Callable[[], float]

    def commit(self, recording: Recording) -> tuple[Recorded, set[int]]:
        """Carry out ``Recording.commit``; also the row ids of the nodes it met or extended.

        Raises:
            RecordingStopped: it could not be done; nothing is shown.
        """
        try:
            plan = self._plan(recording)
            written = self._write(plan) if plan.nodes or plan.blobs else 0
            self._resolve(recording)
        except OSError as error:
            raise RecordingStopped(
                f"checkpoints cannot be written: {error.strerror or error}.",
                "Free disk space or check the cache folder's permissions.",
            ) from error
        except sqlite3.Error as error:
            raise RecordingStopped(
                f"the checkpoint index cannot be written: {error}.",
                "Free disk space or check the cache folder's permissions.",
            ) from error
        states = sum(kind is Kind.STATE for _, kind, _ in plan.blobs)
        return Recorded(len(plan.nodes), states, written, plan.position), plan.keep

    def _plan(self, recording: Recording) -> Plan:
        plan = Plan(known={self.root_key: ROOT})
        for pending in recording.added:
            self._plan_added(plan, pending)
        for node, blobs in recording.attached.values():
            if not self._stored(node):
                continue  # evicted meanwhile: there is nothing left to attach to
            above = None if node.parent is None else self.index.node(node.parent)
            plan.keep.add(node.id)
            plan.known[node.key] = node.id
            parent_key = self.root_key if above is None else above[0].key
            place = Place(node.key, parent_key, node.position, node.tokens, node.mode)
            self._plan_blobs(plan, place, node.id, blobs)
        plan.blobs.sort(key=lambda blob: blob[1])  # rows of neighbouring edges lie side by side
        return plan

    def _plan_added(self, plan: Plan, pending: Pending) -> None:
        parent = pending.parent
        parent_key = self.root_key if parent is None else parent.key
        parent_id = self._known(plan, parent)
        place = Place(pending.key, parent_key, pending.position, pending.tokens, pending.edge.mode)
        found = None if parent_id is None else self.index.child(parent_id, pending.key)
        if found is None:
            plan.nodes.append(NodeEntry(place, pending.edge.ids))
            plan.fresh.add(pending.key)
            self._plan_blobs(plan, place, None, pending.blobs)
        else:
            plan.known[pending.key] = found[0].id
            plan.keep.add(found[0].id)
            self._plan_blobs(plan, place, found[0].id, pending.blobs)

    def _known(self, plan: Plan, parent: Node | Pending | None) -> int | None:
        """Row id of a parent, or None when it is new in this plan; keeps it from eviction."""
        if parent is None:
            return ROOT
        if parent.key in plan.known:
            return plan.known[parent.key]
        if parent.key in plan.fresh:
            return None
        node = parent.node if isinstance(parent, Pending) else parent
        if node is None or not self._stored(node):
            raise RecordingStopped(
                f"the checkpoint at token {parent.position} that this one extends is no longer stored.",
                "It was evicted, cleared or never recorded; the next prompt records it afresh.",
            )
        plan.keep.add(node.id)
        plan.known[parent.key] = node.id
        return node.id

    def _stored(self, node: Node) -> bool:
        found = self.index.node(node.id)
        return found is not None and found[0].key == node.key

    def _plan_blobs(self, plan: Plan, place: Place, node: int | None, blobs: dict[Kind, memoryview]) -> None:
        plan.position = max(plan.position, place.position)
        for kind, data in sorted(blobs.items()):
            planned = any(at.key == place.key and kind is other for at, other, _ in plan.blobs)
            if not planned and (node is None or self.index.blob(node, kind) is None):
                plan.blobs.append((place, kind, data))

    def _write(self, plan: Plan) -> int:
        layout = lay_out(self.root_key, plan.nodes, plan.blobs) if plan.blobs else None
        with neighbours(self.root, self.shelf) as (others, fixed):
            own = Holding(self.shelf, self.index, self.root_key, frozenset(plan.keep))
            evicted = self._make_room(plan, layout, (own, *others), fixed)
            if evicted != Evicted():
                with self.index.transaction():
                    self.index.write_note("last_eviction", f"{_utc(self.now())}: {evicted}")
            self._show(plan, layout)
            if allocated(self.shelf.log) > LOG_BYTES:
                self.index.shrink()
            self._hold_budget(plan, own, others, fixed)
        return 0 if layout is None else layout.file_bytes

    def _make_room(
        self, plan: Plan, layout: Layout | None, holdings: tuple[Holding, ...], fixed: int
    ) -> Evicted:
        need = _index_growth(plan)
        if layout is not None:
            need += blocks(layout.file_bytes) + 2 * BLOCK  # its folder may be new
        reserve = min(need, self.budget // RESERVE_PART)
        if fixed + sum(each.weight() for each in holdings) + need + reserve <= self.budget:
            return Evicted()
        kept = self._kept(plan)
        if need + kept > self.budget:  # say so before evicting everything else in vain
            raise RecordingStopped(
                f"the checkpoint budget of {self.budget} bytes has no room for {need} more beside the"
                f" {kept} they extend.",
                "Raise the disk budget; the conversation goes on without new checkpoints.",
            )
        return make_room(holdings, need=need, budget=self.budget, fixed=fixed, reserve=reserve)

    def _kept(self, plan: Plan) -> int:
        """Bytes that this plan extends and so cannot make room."""
        lines = [[node for node, _ in self.index.lineage(anchor)] for anchor in plan.keep]
        nodes = {node.id: node for line in lines for node in line}
        spare = {node.id for line in lines for node in spare_states(line)}
        return sum(node.kv_bytes + (0 if node.id in spare else node.state_bytes) for node in nodes.values())

    def _show(self, plan: Plan, layout: Layout | None) -> None:
        path = None
        if layout is not None:
            pieces: list[tuple[int, bytes | memoryview]] = [(0, layout.head)]
            pieces += [(e.offset, data) for e, (_, _, data) in zip(layout.blobs, plan.blobs, strict=True)]
            path = self.shelf.write(layout.name, pieces)
        try:
            with self.index.transaction():
                self._insert(plan, layout, allocated(path) if path else 0)
        except BaseException:
            if path is not None:
                remove(path)
            raise

    def _insert(self, plan: Plan, layout: Layout | None, size_on_disk: int) -> None:
        index, used = self.index, self.now()
        ids = plan.known
        for entry in plan.nodes:
            at = entry.place
            ids[at.key] = index.add_node(ids[at.parent_key], at.key, at.mode, at.position, used, entry.ids)
        if layout is None:
            return
        segment = index.add_segment(layout.name, size_on_disk, plan.payload())
        for blob in layout.blobs:
            index.add_blob(ids[blob.place.key], blob.kind, segment, blob.offset, blob.size)

    def _hold_budget(self, plan: Plan, own: Holding, others: list[Holding], fixed: int) -> None:
        """Keep the promise when the index grew by more than was reserved for it."""
        fresh = [plan.known[entry.place.key] for entry in plan.nodes]
        held = replace(own, keep=own.keep | frozenset(fresh))
        try:
            make_room((held, *others), need=0, budget=self.budget, fixed=fixed)
        except RecordingStopped:
            with self.index.transaction():
                for place, kind, _ in plan.blobs:
                    self.index.drop_blob(plan.known[place.key], kind)
                for node in reversed(fresh):
                    self.index.drop_leaf(node)
                dead = self.index.drop_dead_segments()
            for name in dead:
                remove(self.shelf.path(name))
            self.index.shrink()
            raise

    def _resolve(self, recording: Recording) -> None:
        """Tell every pending node what it became, and let go of what it held."""
        for pending in recording.added:
            above = pending.parent.node if isinstance(pending.parent, Pending) else pending.parent
            found = self.index.child(above.id if above else ROOT, pending.key)
            pending.node = found[0] if found else None
            pending.parent = above


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat(timespec="seconds")


def _index_growth(plan: Plan) -> int:
    """Bytes the index and its log may grow by: each row once in the file and once in the log, pages part full."""
    rows = sum(len(entry.ids) + 400 for entry in plan.nodes) + 100 * len(plan.blobs)
    return 3 * rows + 40 * BLOCK
