"""Looking at stores from outside, without a model: figures, clearing, and reading every byte.

Invariant: surveying changes nothing, and clearing leaves indexes that processes which have them open go on using.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.model_note import ModelNote, read_note
from skippy_chat.checkpoints.opening import look, open_index
from skippy_chat.checkpoints.quarantine import Quarantine, held_by
from skippy_chat.checkpoints.shelf import FORMAT, Shelf, allocated
from skippy_chat.checkpoints.types import Identity, StoreStats
from skippy_chat.checkpoints.versions import weigh
from skippy_chat.checkpoints.writer import WriterLock, empty


def figures(shelf: Shelf, index: Index, *, budget_bytes: int, notice: str | None) -> StoreStats:
    """Statistics of one store whose index is open."""
    totals = index.totals()
    return StoreStats(
        identity=shelf.identity,
        parts=_parts(shelf),
        nodes=totals["nodes"],
        states=totals["states"],
        logits=totals["logits"],
        segments=totals["segments"],
        allocated_bytes=shelf.overhead() + index.allocated(),
        payload_bytes=totals["payload"],
        live_bytes=totals["live"],
        budget_bytes=budget_bytes,
        quarantined=totals["quarantined"],
        last_quarantine=index.last_quarantine(),
        last_eviction=index.note("last_eviction"),
        last_used=index.last_used(),
        notice=notice,
        quarantine_bytes=sum(allocated(path) for path in held_by(shelf)),
    )


def store_stats(root: Path, *, budget_bytes: int = 0) -> list[StoreStats]:
    """Statistics of every identity's store below ``root``; one that cannot be read says so in ``notice``."""
    return [_stats(shelf, budget_bytes) for shelf in Shelf.all(root)]


def model_notes(root: Path) -> dict[str, ModelNote]:
    """What is noted of the models below ``root``, by identity."""
    notes = {shelf.identity: read_note(shelf) for shelf in Shelf.all(root)}
    return {identity: note for identity, note in notes.items() if note is not None}


def _stats(shelf: Shelf, budget_bytes: int) -> StoreStats:
    try:
        with contextlib.closing(look(shelf, Index)) as index:
            return figures(shelf, index, budget_bytes=budget_bytes, notice=None)
    except (sqlite3.Error, OSError) as error:
        return _unreadable(shelf, error)


def used_bytes(root: Path) -> int:
    """Bytes that all identities below ``root`` allocate on disk: what the budget bounds.

    Their indexes are asked, so that this takes no longer the more is stored.
    """
    beside = (root, root / FORMAT, root / FORMAT / "writer.lock")
    return sum(allocated(path) for path in beside) + sum(_weight(shelf) for shelf in Shelf.all(root))


def _weight(shelf: Shelf) -> int:
    try:
        with contextlib.closing(look(shelf, Index)) as index:
            return shelf.overhead() + index.allocated()
    except (sqlite3.Error, OSError):
        return weigh(shelf.home)


def clear_all(root: Path) -> int:
    """Forget every checkpoint of every identity below ``root`` and return the bytes freed.

    Raises:
        CheckpointError: a store can be neither emptied nor begun anew.
    """
    shelves = Shelf.all(root)
    if not shelves:
        return 0
    lock = WriterLock(root)
    freed = 0
    with lock.hold():
        for shelf in shelves:
            before = weigh(shelf.home)
            index, reader, _ = open_index(shelf, lock, Identity(shelf.identity), Quarantine(root, 0))
            with contextlib.closing(index), contextlib.closing(reader):
                empty(shelf, index)
            freed += max(0, before - weigh(shelf.home))
    return freed


def _parts(shelf: Shelf) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return shelf.described.read_text(encoding="utf-8")
    return ""


def _unreadable(shelf: Shelf, error: Exception) -> StoreStats:
    return StoreStats(
        identity=shelf.identity,
        parts=_parts(shelf),
        nodes=0,
        states=0,
        logits=0,
        segments=0,
        allocated_bytes=weigh(shelf.home),
        payload_bytes=0,
        live_bytes=0,
        budget_bytes=0,
        quarantined=0,
        last_quarantine=None,
        last_eviction=None,
        last_used=None,
        notice=f"its index cannot be read: {error}",
    )
