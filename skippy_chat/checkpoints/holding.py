"""The stores below one root, in the hands of whoever holds the writer lock.

The budget is the root's: all identities share it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.shelf import FORMAT, Shelf, allocated
from skippy_chat.checkpoints.types import Identity

BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Holding:
    """One identity's files and index; ``keep`` are row ids of what must not go, nor what is above it."""

    shelf: Shelf
    index: Index
    root_key: bytes
    keep: frozenset[int] = field(default=frozenset())

    def weight(self) -> int:
        """Bytes allocated on disk."""
        return self.shelf.overhead() + self.index.allocated()

    def partial(self) -> bool:
        """Whether this identity's lane can be resumed only where a state is."""
        return self.index.note("partial") is not None


def blocks(size: int) -> int:
    """Round up to whole disk blocks."""
    return -(-size // BLOCK) * BLOCK


@contextlib.contextmanager
def neighbours(root: Path, own: Shelf) -> Iterator[tuple[list[Holding], int]]:
    """Open the other identities under ``root``; also the bytes of those that cannot be opened, and of the root."""
    holdings: list[Holding] = []
    fixed = sum(allocated(path) for path in (root, root / FORMAT, root / FORMAT / "writer.lock"))
    try:
        for shelf in Shelf.all(root):
            if shelf.home == own.home:
                continue
            holding = _neighbour(shelf)
            if holding is None:
                fixed += sum(allocated(path) for path in (shelf.home, *shelf.home.rglob("*")))
            else:
                holdings.append(holding)
        yield holdings, fixed
    finally:
        for each in holdings:
            each.index.close()


def _neighbour(shelf: Shelf) -> Holding | None:
    if not shelf.index.exists():
        return None
    index = None
    try:
        root_key = Identity(shelf.identity).root_key
        index = Index(shelf.index)
        index.check(root_key)
        return Holding(shelf, index, root_key)
    except sqlite3.Error:
        if index is not None:
            index.close()
        return None
