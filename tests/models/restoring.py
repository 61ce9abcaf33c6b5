"""What restoring a state must give: the bytes and the logits of the run that was never interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skippy_chat.native.context import Context, ContextOptions

Logits = NDArray[np.float32]
BATCH = 256
OPTIONS = ContextOptions(n_ctx=1024, n_batch=BATCH, n_ubatch=BATCH, threads=1, flash_attention="on")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is stored of a sequence: attention rows (none in recurrent models) and the partial state."""

    position: int
    rows: bytes
    state: bytes


def read(context: Context, ids: Sequence[int]) -> None:
    """Read ``ids`` from scratch, in whole batches and a rest."""
    context.clear()
    for start in range(0, len(ids), BATCH):
        context.decode(ids[start : start + BATCH], start, logits=False)


def take(context: Context, position: int) -> Checkpoint:
    """Take the checkpoint of a sequence that holds ``position`` tokens."""
    rows = context.export_range(0, position) if context.range_size(0, position) else b""
    return Checkpoint(position, bytes(rows), bytes(context.export_state()))


def restore(context: Context, checkpoint: Checkpoint) -> None:
    """Put a checkpoint into an emptied sequence."""
    context.clear()
    if checkpoint.rows:
        context.append_range(checkpoint.rows, 0, checkpoint.position)
    context.import_state(checkpoint.state)


def go_on(context: Context, ids: Sequence[int], position: int, batches: Sequence[int]) -> Logits:
    """Read on from ``position`` in batches of these sizes, and return the logits after each, one row per batch."""
    rows = []
    for count in batches:
        context.decode(ids[position : position + count], position, logits=True)
        rows.append(context.logits().copy())
        position += count
    logits = np.stack(rows)
    assert np.isfinite(logits).all()
    return logits
