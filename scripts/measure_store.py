"""Generate a checkpoint store of a million nodes and measure what a person would feel of its size.

    python scripts/measure_store.py generate FOLDER --nodes 1000000
    python scripts/measure_store.py measure FOLDER
    python scripts/measure_store.py evict FOLDER --leaves 1000

The nodes are those of long conversations (``PATH`` nodes each) below shared system prompts, one segment file for
every ``PER_FILE`` of them, written with the store's own code and valid to the last digest; only the rows are small,
so that the file system holds them.
"""

# ruff: noqa: S311 - seeded figures, not secrets

from __future__ import annotations

import argparse
import contextlib
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.checkpoints import CheckpointStore, Edge, Identity, Node
from skippy_chat.checkpoints import index as index_module
from skippy_chat.checkpoints.eviction import Holding, make_room, neighbours
from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.segment import NodeEntry, Place, lay_out
from skippy_chat.checkpoints.shelf import Shelf, allocated
from skippy_chat.checkpoints.types import ROOT, Kind, Mode, node_key
from skippy_chat.checkpoints.worth import rank_anew
from skippy_chat.checkpoints.writer import WriterLock

IDENTITY = Identity.of(generated="scripts/measure_store.py", version=1)
PATH = 150
PER_FILE = 5
BUDGET = 1 << 40
ROUNDS = 21
AGED = 1e-4  # the store's clock after one conversation


def edges(conversation: int) -> list[bytes]:
    """Ids of one conversation's edges, the first shared by a hundred conversations."""
    rng = random.Random(conversation)
    shared = random.Random(f"system {conversation % 100}")
    return [shared.randbytes(4 * 128), *(rng.randbytes(4 * rng.randint(8, 256)) for _ in range(PATH - 1))]


def generate(root: Path, nodes: int) -> None:
    """Fill an empty folder."""
    index_module.SYNCHRONOUS = "OFF"
    CheckpointStore.open(root, IDENTITY, budget_bytes=BUDGET, now=time.time).close()
    shelf = Shelf.of(root, IDENTITY.digest)
    began = time.monotonic()
    with WriterLock(root).hold(), contextlib.closing(Index(shelf.index)) as index:
        index.write_note("partial", "1")
        made, conversation = 0, 0
        while made < nodes:
            with index.transaction():
                for _ in range(20):
                    made += _converse(shelf, index, conversation, float(conversation))
                    conversation += 1
            print(f"\r{made:,} nodes, {time.monotonic() - began:.0f} s", end="", file=sys.stderr)
        index.shrink()
    print(file=sys.stderr)


def _converse(shelf: Shelf, index: Index, conversation: int, used: float) -> int:
    """Add one conversation and return how many nodes were new."""
    parent, parent_key, position = ROOT, IDENTITY.root_key, 0
    fresh: list[tuple[int, Place, bytes]] = []
    made = 0
    for ids in edges(conversation):
        key = node_key(parent_key, Mode.BATCH, ids)
        position += len(ids) // 4
        found = index.child(parent, key)
        if found is None:
            node = index.add_node(parent, key, Mode.BATCH, position, used, ids, aged=used * AGED)
            fresh.append((node, Place(key, parent_key, position, len(ids) // 4, Mode.BATCH), ids))
            made += 1
        else:
            node = found[0].id
        if len(fresh) == PER_FILE:
            _file(shelf, index, fresh)
            fresh = []
        parent, parent_key = node, key
    if fresh:
        _file(shelf, index, fresh)
    return made


def _file(shelf: Shelf, index: Index, fresh: list[tuple[int, Place, bytes]]) -> None:
    """Write one segment: small rows for every node, a state for the last."""
    rows = [(place, Kind.KV, memoryview(place.key * 2)) for _, place, _ in fresh]
    last = fresh[-1][1]
    blobs = [*rows, (last, Kind.STATE, memoryview(last.key * 8))]
    layout = lay_out(IDENTITY.root_key, [NodeEntry(place, ids) for _, place, ids in fresh], blobs)
    path = shelf.path(layout.name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("wb") as file:  # durability is not what is measured
        file.write(layout.head)
        for entry, (_, _, data) in zip(layout.blobs, blobs, strict=True):
            file.seek(entry.offset)
            file.write(data)
    segment = index.add_segment(layout.name, allocated(path), sum(len(data) for _, _, data in blobs))
    owners = {place.key: node for node, place, _ in fresh}
    for entry in layout.blobs:
        index.add_blob(owners[entry.place.key], entry.kind, segment, entry.offset, entry.size)
    rank_anew(index, fresh[-1][0], partial=True)


def measure(root: Path) -> dict[str, object]:
    """Open, look up, map and record in a generated store."""
    opens: list[Took] = []
    before = _resident()
    for _ in range(ROUNDS):
        with _timed(opens):
            store = CheckpointStore.open(root, IDENTITY, budget_bytes=BUDGET, now=time.time)
        store.close()
    store = CheckpointStore.open(root, IDENTITY, budget_bytes=BUDGET, now=time.time)
    stats = store.stats()
    lookups: list[Took] = []
    maps: list[Took] = []
    commits: list[Took] = []
    rng = random.Random(1)
    resident = [_resident()]
    for turn in range(10 * ROUNDS):
        node = None
        while node is None:  # some conversations may be evicted in part
            took: list[Took] = []
            wanted = [Edge(ids, Mode.BATCH) for ids in edges(rng.randrange(stats.nodes // PATH))]
            with _timed(took):
                node = _walk(store, wanted)
        lookups += took
        with _timed(maps):
            store.map(node).close()
        store.touch(node)
        if turn % 10 == 0:
            recording = store.recording()
            recording.add(node, Edge(rng.randbytes(400), Mode.BATCH), kv=b"k" * 100, state=b"s" * 100)
            with _timed(commits):
                recording.commit()
            resident.append(_resident())
    store.close()
    return {
        "nodes": stats.nodes,
        "segments": stats.segments,
        "allocated_bytes": stats.allocated_bytes,
        "open_ms": _spread(opens),
        "lookup_150_ms": _spread(lookups),
        "map_150_ms": _spread(maps),
        "commit_ms": _spread(commits),
        "resident_before": before,
        "resident_first_middle_last": [resident[0], resident[len(resident) // 2], resident[-1]],
        "resident_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
    }


def _walk(store: CheckpointStore, wanted: list[Edge]) -> Node | None:
    """Look up a whole path; None when part of it is gone."""
    node = None
    for edge in wanted:
        node = store.child(node, edge)
        if node is None:
            break
    return node


def evict(root: Path, leaves: int) -> dict[str, object]:
    """Have the store make room until about that many leaves are gone."""
    shelf = Shelf.of(root, IDENTITY.digest)
    with (
        WriterLock(root).hold(),
        contextlib.closing(Index(shelf.index)) as index,
        neighbours(root, shelf) as (others, fixed),
    ):
        holding = Holding(shelf, index, IDENTITY.root_key)
        before = index.totals()["nodes"]
        used = fixed + holding.weight()
        taken: list[Took] = []
        gone = 0
        while gone < leaves:
            used = fixed + holding.weight()
            with _timed(taken):
                make_room((holding, *others), need=0, budget=used - (64 << 10), fixed=fixed)
            gone = before - index.totals()["nodes"]
    seconds, busy = sum(each.wall for each in taken), sum(each.processor for each in taken)
    return {
        "leaves": gone,
        "seconds": round(seconds, 2),
        "ms_per_leaf": round(1000 * seconds / gone, 2),
        "ms_per_leaf_processor": round(1000 * busy / gone, 2),
    }


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of the clock on the wall, and of this process's own on a processor."""

    wall: float
    processor: float


@contextlib.contextmanager
def _timed(into: list[Took]) -> Iterator[None]:
    began, busy = time.perf_counter(), time.process_time()
    yield
    into.append(Took(time.perf_counter() - began, time.process_time() - busy))


def _spread(took: list[Took]) -> dict[str, float]:
    """First, median and worst, in milliseconds; on a busy machine the processor's time says more."""
    return {
        "first": round(1000 * took[0].wall, 2),
        "median": round(1000 * statistics.median(each.wall for each in took), 2),
        "worst": round(1000 * max(each.wall for each in took), 2),
        "median_processor": round(1000 * statistics.median(each.processor for each in took), 2),
    }


def _resident() -> int:
    """Resident bytes of this process now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    """Carry out one command and print its figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=["generate", "measure", "evict"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--leaves", type=int, default=1_000)
    chosen = parser.parse_args()
    if chosen.command == "generate":
        generate(chosen.folder, chosen.nodes)
    else:
        found = measure(chosen.folder) if chosen.command == "measure" else evict(chosen.folder, chosen.leaves)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
