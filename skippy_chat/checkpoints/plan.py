"""What of a recording is new, against the index; and into which files it goes.

Invariant: what the store holds already is planned nowhere, so it is neither written nor shown twice. A large state lies
in a file of its own: dropping it gives its bytes back at once, and nothing that stays has to be written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.checkpoints.segment import Layout, NodeEntry, Place, lay_out
from skippy_chat.checkpoints.types import ROOT, Kind, Node
from skippy_chat.errors import RecordingStopped

OWN_FILE_BYTES = 1 << 16
"""Size from which a state lies in a file of its own: rounding up to blocks and a header cost it 3 % on average."""

Planned = tuple[Place, Kind, memoryview]


@dataclass(slots=True)
class Plan:
    """What of a recording is new: nodes in order, then blobs with the key of the node each belongs to."""

    known: dict[bytes, int] = field(default_factory=dict)  # key → row id of nodes the index has
    keep: set[int] = field(default_factory=set)  # row ids that must not be evicted, nor so what is above them
    fresh: set[bytes] = field(default_factory=set)  # keys of ``nodes``
    nodes: list[NodeEntry] = field(default_factory=list)
    blobs: list[Planned] = field(default_factory=list)
    position: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing is new."""
        return not self.nodes and not self.blobs

    @property
    def states(self) -> int:
        """How many states are new."""
        return sum(kind is Kind.STATE for _, kind, _ in self.blobs)


def make_plan(index: Index, root_key: bytes, recording: Recording) -> Plan:
    """Work out what is new; the writer lock must be held.

    Raises:
        RecordingStopped: what the recording extends is no longer stored.
    """
    return _Planner(index, root_key).plan(recording)


def lay_out_files(root_key: bytes, plan: Plan, part: int) -> list[tuple[Layout, list[Planned]]]:
    """Lay out a plan's files, each with its blobs: large states alone, the rest up to ``part`` bytes together."""
    nodes = {entry.place.key: entry for entry in plan.nodes}
    files = []
    for blobs in _groups(plan.blobs, part):
        introduced = [nodes.pop(place.key) for place, _, _ in blobs if place.key in nodes]
        files.append((lay_out(root_key, introduced, blobs), blobs))
    return files


def _groups(blobs: Sequence[Planned], part: int) -> Iterator[list[Planned]]:
    group: list[Planned] = []
    alone: list[Planned] = []
    size = 0
    for blob in blobs:
        if blob[1] is Kind.STATE and len(blob[2]) >= OWN_FILE_BYTES:
            alone.append(blob)
            continue
        if group and size + len(blob[2]) > part:
            yield group
            group, size = [], 0
        group.append(blob)
        size += len(blob[2])
    if group:
        yield group
    yield from ([blob] for blob in alone)


def file_bytes(files: Sequence[tuple[Layout, list[Planned]]]) -> int:
    """Bytes of all files."""
    return sum(layout.file_bytes for layout, _ in files)


@dataclass(frozen=True, slots=True)
class _Planner:
    index: Index
    root_key: bytes

    def plan(self, recording: Recording) -> Plan:
        plan = Plan(known={self.root_key: ROOT})
        for pending in recording.added:
            self._added(plan, pending)
        for node, blobs in recording.attached.values():
            if not self._stored(node):
                continue  # evicted meanwhile: there is nothing left to attach to
            above = None if node.parent is None else self.index.node(node.parent)
            plan.keep.add(node.id)
            plan.known[node.key] = node.id
            parent_key = self.root_key if above is None else above[0].key
            place = Place(node.key, parent_key, node.position, node.tokens, node.mode)
            self._blobs(plan, place, node.id, blobs)
        plan.blobs.sort(key=lambda blob: blob[1])  # rows of neighbouring edges lie side by side
        return plan

    def _added(self, plan: Plan, pending: Pending) -> None:
        parent = pending.parent
        parent_key = self.root_key if parent is None else parent.key
        parent_id = self._known(plan, parent)
        place = Place(pending.key, parent_key, pending.position, pending.tokens, pending.edge.mode)
        found = None if parent_id is None else self.index.child(parent_id, pending.key)
        if found is None:
            plan.nodes.append(NodeEntry(place, pending.edge.ids))
            plan.fresh.add(pending.key)
            self._blobs(plan, place, None, pending.blobs)
        else:
            plan.known[pending.key] = found[0].id
            plan.keep.add(found[0].id)
            self._blobs(plan, place, found[0].id, pending.blobs)

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

    def _blobs(self, plan: Plan, place: Place, node: int | None, blobs: dict[Kind, memoryview]) -> None:
        plan.position = max(plan.position, place.position)
        for kind, data in sorted(blobs.items()):
            planned = any(at.key == place.key and kind is other for at, other, _ in plan.blobs)
            if not planned and (node is None or self.index.blob(node, kind) is None):
                plan.blobs.append((place, kind, data))
