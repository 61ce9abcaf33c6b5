"""Whether a lane may be left for a side request: only if coming back costs a restore, never a prefill."""

from __future__ import annotations

from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Node
from skippy_chat.engine.lane import Lane
from skippy_chat.engine.resume import StoreTree
from skippy_chat.errors import CheckpointError


def can_come_back(lane: Lane, store: CheckpointStore | None) -> bool:
    """Return whether everything that ``lane`` holds is durable and can be put back where it now ends.

    What was handed over to be written must have been waited for.
    """
    if lane.position == 0:
        return True
    if store is None or not lane.edges or lane.edges[-1].stop != lane.position:
        return False
    tree = StoreTree(store, lane)
    node: Node | None = None
    try:
        for planned in lane.edges:
            node = tree.child(node, planned.edge)
            if node is None:
                return False
    except CheckpointError:
        return False
    return node is not None and tree.restorable(node, at_end=False)
