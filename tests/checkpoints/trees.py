"""Small trees, and looks at what lies on disk, for the checkpoint tests."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skippy_chat.checkpoints import CheckpointStore, Edge, Identity, Mode, Node
from skippy_chat.checkpoints.shelf import FORMAT

IDENTITY = Identity.of(weights=b"\x01" * 32, n_ubatch=512)
OTHER = Identity.of(weights=b"\x02" * 32, n_ubatch=512)
MIB = 1 << 20


_TICKS = itertools.count(1000)


def clock() -> float:
    """Seconds that pass only when asked for, and go on from store to store."""
    return float(next(_TICKS))


def open_store(root: Path, *, budget: int = 64 * MIB, identity: Identity = IDENTITY) -> CheckpointStore:
    return CheckpointStore.open(root, identity, budget_bytes=budget, now=clock)


@contextmanager
def opened(root: Path, *, budget: int = 64 * MIB, identity: Identity = IDENTITY) -> Iterator[CheckpointStore]:
    store = open_store(root, budget=budget, identity=identity)
    try:
        yield store
    finally:
        store.close()


def payload(label: object, size: int) -> bytes:
    """Bytes that differ from label to label."""
    return random.Random(repr(label)).randbytes(size)


def edge(first: int, tokens: int = 8, mode: Mode = Mode.BATCH) -> Edge:
    return Edge.of(range(first, first + tokens), mode)


def chain(store: CheckpointStore, edges: list[Edge], *, kv: int = 4000, state: int = 3000) -> list[Node]:
    """Record edges one below the other in one segment; every node has KV, a state, the last one logits."""
    recording = store.recording()
    parent = None
    for each in edges:
        last = each is edges[-1]
        parent = recording.add(
            parent,
            each,
            kv=payload(("kv", each), kv),
            state=payload(("state", each), state),
            logits=payload(("logits", each), 400) if last else None,
        )
    recording.commit()
    return walk(store, edges)


def walk(store: CheckpointStore, edges: list[Edge]) -> list[Node]:
    """The nodes along edges, as far as there are any."""
    nodes: list[Node] = []
    for each in edges:
        node = store.child(nodes[-1] if nodes else None, each)
        if node is None:
            break
        nodes.append(node)
    return nodes


def home(root: Path, identity: Identity = IDENTITY) -> Path:
    return root / FORMAT / identity.digest[:2] / identity.digest


def segment_files(root: Path, identity: Identity = IDENTITY) -> list[Path]:
    return sorted(home(root, identity).glob("segments/*/*.seg"))


def strays(root: Path, identity: Identity = IDENTITY) -> list[Path]:
    """Files being written, and segments the index does not know."""
    with sql(root, identity) as db:
        known = {row[0] for row in db.execute("SELECT name FROM segments")}
    lost = [path for path in segment_files(root, identity) if path.stem not in known]
    return lost + list((home(root, identity) / "tmp").iterdir())


@contextmanager
def sql(root: Path, identity: Identity = IDENTITY) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(home(root, identity) / "index.db", timeout=5)
    try:
        yield db
        db.commit()
    finally:
        db.close()


def blob_at(root: Path, node: Node, kind: int) -> tuple[Path, int, int]:
    """(file, offset, size) of a node's blob: kind 0 KV, 1 state, 2 logits."""
    with sql(root) as db:
        name, offset, size = db.execute(
            "SELECT s.name, b.offset, b.bytes FROM blobs b JOIN segments s ON s.id = b.segment"
            " WHERE b.node = ? AND b.kind = ?",
            (node.id, kind),
        ).fetchone()
    return home(root) / "segments" / name[:2] / f"{name}.seg", offset, size


def flip(path: Path, offset: int) -> None:
    """Flip one bit of one byte."""
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def disk_usage(root: Path) -> int:
    """Allocated bytes of everything below and including ``root``."""
    return sum(path.lstat().st_blocks * 512 for path in [root, *root.rglob("*")])
