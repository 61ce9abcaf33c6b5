"""What the tree has below a node, whether it is durable or still waits for the writer.

Invariant: a node that waits counts as known only to what is recorded after it, which the same writer commits later; a
lookup for restoring never sees it.
"""

from __future__ import annotations

from typing import TypeAlias

from skippy_chat.checkpoints.recording import Pending
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Edge, Kind, Node, node_key
from skippy_chat.engine.recorder import Recorder

Known: TypeAlias = "Node | Pending"


class KnownTree:
    """One store and what waits to be committed to it."""

    def __init__(self, store: CheckpointStore, recorder: Recorder) -> None:
        self._store = store
        self._recorder = recorder
        self._root_key = store.identity.root_key

    def child(self, parent: Known | None, edge: Edge) -> Known | None:
        """Return the node that ``edge`` leads to from ``parent`` (None: the root).

        Raises:
            CheckpointError: the index cannot be read.
        """
        key = node_key(self._root_key if parent is None else parent.key, edge.mode, edge.ids)
        waiting = self._recorder.waiting(key)
        if waiting is not None:
            return waiting.node or waiting
        if isinstance(parent, Pending):
            if parent.node is None:
                return None  # it waits still and this was never added below it, or it could not be committed
            parent = parent.node
        return self._store.child(parent, edge)


def has(node: Known, kind: Kind) -> bool:
    """Whether a node has a blob, or will have it once it is committed."""
    if isinstance(node, Pending):
        if node.node is None:
            return kind in node.blobs
        node = node.node
    return {Kind.KV: node.has_kv, Kind.STATE: node.has_state, Kind.LOGITS: node.has_logits}[kind]
