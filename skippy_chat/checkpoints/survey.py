"""Looking at stores from outside, without a model: figures, clearing, and reading every byte.

Invariant: surveying changes nothing, and clearing leaves indexes that processes which have them open go on using.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.opening import open_index
from skippy_chat.checkpoints.restore import DamageError, map_file, prove_link
from skippy_chat.checkpoints.segment import Place, Segment, SegmentError
from skippy_chat.checkpoints.shelf import Shelf, allocated
from skippy_chat.checkpoints.types import Identity, StoreStats, VerifyReport
from skippy_chat.checkpoints.writer import WriterLock, empty
from skippy_chat.errors import RecordingStopped


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
    )


def store_stats(root: Path) -> list[StoreStats]:
    """Statistics of every identity's store below ``root``; one that cannot be read says so in ``notice``."""
    return [_stats(shelf) for shelf in Shelf.all(root)]


def _stats(shelf: Shelf) -> StoreStats:
    try:
        with contextlib.closing(_open(shelf)) as index:
            return figures(shelf, index, budget_bytes=0, notice=None)
    except (sqlite3.Error, OSError) as error:
        return _unreadable(shelf, error)


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
            before = _weigh(shelf)
            index, reader, _ = open_index(shelf, lock, Identity(shelf.identity))
            with contextlib.closing(index), contextlib.closing(reader):
                empty(shelf, index)
            freed += max(0, before - _weigh(shelf))
    return freed


def verify(root: Path) -> list[VerifyReport]:
    """Read every store below ``root`` whole and report all that is not as recorded; nothing is repaired."""
    return [_verify(root, shelf) for shelf in Shelf.all(root)]


def _verify(root: Path, shelf: Shelf) -> VerifyReport:
    try:
        with contextlib.closing(_open(shelf)) as index:
            return _verify_open(root, shelf, index)
    except (sqlite3.Error, OSError) as error:
        return VerifyReport(shelf.identity, 0, 0, 0, (f"index cannot be read: {error}",))


def _verify_open(root: Path, shelf: Shelf, index: Index) -> VerifyReport:
    root_key = Identity(shelf.identity).root_key
    segments = index.segments_after(0, 1 << 40)
    problems: list[str] = []
    size = 0
    for segment, name in segments:
        read, problem = _verify_segment(shelf, index, segment, name, root_key)
        size += read
        if problem:
            problems.append(f"segment {name[:12]}…: {problem}")
    nodes = 0
    for reason in _verify_nodes(index, root_key):
        nodes += 1
        if reason:
            problems.append(reason)
    with contextlib.suppress(RecordingStopped), WriterLock(root).hold(0.0):  # a writer's new file is no stray
        problems += [f"{path.name[:12]}…: not in the index" for path in shelf.strays(index.names_in)]
    return VerifyReport(shelf.identity, nodes, len(segments), size, tuple(problems))


def _verify_segment(shelf: Shelf, index: Index, row: int, name: str, root_key: bytes) -> tuple[int, str]:
    """Prove every byte of a segment, and that the index agrees: its size, and what is wrong or ""."""
    try:
        view = memoryview(map_file(shelf.path(name))).toreadonly()
        segment = Segment(view, name=name, root_key=root_key)
        segment.prove_gaps()
        for entry in segment.blobs.values():
            segment.payload(entry)
        for node, parent_key, _, kind, at in index.blobs_of(row):
            place = Place(node.key, parent_key or root_key, node.position, node.tokens, node.mode)
            segment.expect(place, kind, at.offset, at.size)
    except FileNotFoundError:
        return 0, "missing file"
    except SegmentError as bad:
        return 0, str(bad)
    return len(view), ""


def _verify_nodes(index: Index, root_key: bytes) -> Iterator[str]:
    """Yield a reason or "" for every node."""
    for row in index.node_ids():
        found = index.node(row)
        if found is None:
            continue  # evicted while we look
        node, ids = found
        above = None if node.parent is None else index.node(node.parent)
        if node.parent is not None and above is None:
            yield f"node at token {node.position}: its parent is gone"
            continue
        try:
            prove_link(above[0] if above else None, node, ids, root_key)
            yield ""
        except DamageError as damage:
            yield f"node at token {node.position}: {damage.reason}"


def _open(shelf: Shelf) -> Index:
    if not shelf.index.exists():
        raise FileNotFoundError("there is no index")
    index = Index(shelf.index)
    try:
        index.check(Identity(shelf.identity).root_key)
    except BaseException:
        index.close()
        raise
    return index


def _parts(shelf: Shelf) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return shelf.described.read_text(encoding="utf-8")
    return ""


def _weigh(shelf: Shelf) -> int:
    return sum(allocated(path) for path in (shelf.home, *shelf.home.rglob("*")))


def _unreadable(shelf: Shelf, error: Exception) -> StoreStats:
    return StoreStats(
        identity=shelf.identity,
        parts=_parts(shelf),
        nodes=0,
        states=0,
        logits=0,
        segments=0,
        allocated_bytes=_weigh(shelf),
        payload_bytes=0,
        live_bytes=0,
        budget_bytes=0,
        quarantined=0,
        last_quarantine=None,
        last_eviction=None,
        last_used=None,
        notice=f"its index cannot be read: {error}",
    )
