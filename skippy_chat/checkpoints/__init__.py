"""The checkpoint tree on disk: bytes in, bytes out; it knows no llama and no chat."""

from skippy_chat.checkpoints.mending import Mending
from skippy_chat.checkpoints.placement import Costs, Cut, place
from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.checkpoints.restore import Mapped
from skippy_chat.checkpoints.store import CheckpointStore, Parent
from skippy_chat.checkpoints.survey import clear_all, store_stats
from skippy_chat.checkpoints.types import (
    Edge,
    EvictedCheckpoint,
    Identity,
    Mode,
    Node,
    Recorded,
    StoreStats,
    VerifyReport,
)
from skippy_chat.checkpoints.verify import verify

__all__ = [
    "CheckpointStore",
    "Costs",
    "Cut",
    "Edge",
    "EvictedCheckpoint",
    "Identity",
    "Mapped",
    "Mending",
    "Mode",
    "Node",
    "Parent",
    "Pending",
    "Recorded",
    "Recording",
    "StoreStats",
    "VerifyReport",
    "clear_all",
    "place",
    "store_stats",
    "verify",
]
