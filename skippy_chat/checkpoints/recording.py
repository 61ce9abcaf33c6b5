"""What one prompt, answer or tool step adds to the tree, collected in memory until it is committed.

Invariant: filling a recording touches neither disk nor lock, so the reading of tokens never waits for it; the buffers
given must not change until ``commit`` has returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from skippy_chat.checkpoints.types import Buffer, Edge, Kind, Node, Recorded, node_key


@dataclass(eq=False, slots=True)
class Pending:
    """A node being recorded; ``node`` is set once its recording is committed."""

    parent: Node | Pending | None
    edge: Edge
    key: bytes = field(repr=False)
    position: int
    blobs: dict[Kind, memoryview] = field(default_factory=dict, repr=False)
    node: Node | None = None

    @property
    def tokens(self) -> int:
        """Number of tokens on its edge."""
        return self.edge.tokens


class Recording:
    """Collects one segment's nodes and blobs; made by ``CheckpointStore.recording``."""

    def __init__(self, root_key: bytes, commit: Callable[[Recording], Recorded]) -> None:
        self._root_key = root_key
        self._commit = commit
        self._by_key: dict[bytes, Pending] = {}
        self.added: list[Pending] = []
        self.attached: dict[int, tuple[Node, dict[Kind, memoryview]]] = {}
        self.done = False

    def add(
        self,
        parent: Node | Pending | None,
        edge: Edge,
        *,
        kv: Buffer | None = None,
        state: Buffer | None = None,
        logits: Buffer | None = None,
    ) -> Pending:
        """Add a node below ``parent`` (None: the root), or blobs to the one added before under the same edge.

        ``parent`` may be pending here, or in an earlier recording that is committed before this one.
        """
        key = node_key(self._root_key if parent is None else parent.key, edge.mode, edge.ids)
        pending = self._by_key.get(key)
        if pending is None:
            start = 0 if parent is None else parent.position
            pending = self._by_key[key] = Pending(parent, edge, key, start + edge.tokens)
            self.added.append(pending)
        pending.blobs.update(_blobs(kv, state, logits))
        return pending

    def attach(
        self, node: Node | Pending, *, state: Buffer | None = None, logits: Buffer | None = None
    ) -> None:
        """Give a node a state or logits that it lacks; what it already has is kept."""
        if isinstance(node, Pending):
            if node not in self.added:
                raise ValueError("attach takes a node of the tree or one pending in this recording")
            node.blobs.update(_blobs(None, state, logits))
        else:
            self.attached.setdefault(node.id, (node, {}))[1].update(_blobs(None, state, logits))

    def commit(self) -> Recorded:
        """Write one segment file durably, then show it in one index transaction.

        What the store holds already, by whichever process, is kept and not written again.

        Raises:
            RecordingStopped: no room in the budget, disk full or read-only, or the parent was evicted meanwhile;
                nothing is shown and no file is left.
        """
        if self.done:
            raise ValueError("a recording is committed once")
        self.done = True
        try:
            return self._commit(self)
        finally:
            for pending in self.added:
                pending.blobs = {}  # a pending node may live on as a parent; its bytes need not
            self.attached = {}


def _blobs(kv: Buffer | None, state: Buffer | None, logits: Buffer | None) -> dict[Kind, memoryview]:
    given = ((Kind.KV, kv), (Kind.STATE, state), (Kind.LOGITS, logits))
    return {kind: memoryview(data).cast("B") for kind, data in given if data is not None and len(data)}
