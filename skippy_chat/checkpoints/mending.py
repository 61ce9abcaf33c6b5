"""Setting aside what ``verify`` found damaged, piece by piece, so that nobody who records waits for long.

Invariant: the writer lock is held for one piece at a time, and each piece is looked at again with it held: only what
the index still says of it is changed. The healthy rest of a damaged file is copied, proven, before the file goes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.checkpoints.audit import Audit
from skippy_chat.checkpoints.eviction import REWRITE_SLACK, make_room
from skippy_chat.checkpoints.holding import Holding, blocks, neighbours
from skippy_chat.checkpoints.index import BlobAt
from skippy_chat.checkpoints.quarantine import Quarantine
from skippy_chat.checkpoints.restore import map_file
from skippy_chat.checkpoints.rewriting import rewrite
from skippy_chat.checkpoints.segment import Segment
from skippy_chat.checkpoints.shelf import Shelf, allocated, remove
from skippy_chat.checkpoints.types import Identity, Kind, Node
from skippy_chat.checkpoints.writer import WriterLock
from skippy_chat.errors import RecordingStopped


@dataclass(frozen=True, slots=True)
class Mending:
    """How damage is dealt with: kept aside within a part of ``budget`` (bytes), or deleted; ``now`` tells seconds."""

    budget: int
    now: Callable[[], float]
    delete: bool = False


@dataclass(slots=True)
class Spoiled:
    """What is wrong with one segment: the whole ``file``, single ``blobs``, or only ``space`` that nobody uses."""

    segment: int
    name: str
    file: str = ""
    blobs: dict[tuple[int, Kind], tuple[BlobAt, str]] = field(default_factory=dict)
    space: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.file or self.blobs or self.space)

    def reasons(self) -> Iterator[str]:
        """Yield every reason, the file's first."""
        if self.file:
            yield self.file
        yield from (reason for _, reason in self.blobs.values())
        yield from self.space

    def still(self, index: Audit) -> bool:
        """Forget what the index no longer says, and tell whether anything is left; a file itself never changes."""
        if index.weights(self.segment) is None:
            return False
        for key, (at, _) in list(self.blobs.items()):
            if index.blob(*key) != at:
                del self.blobs[key]
        return bool(self)


@dataclass(slots=True)
class Mend:
    """Mends one store; ``done`` counts pieces."""

    root: Path
    shelf: Shelf
    index: Audit
    lock: WriterLock
    how: Mending
    done: int = 0

    def set_aside(self, spoiled: Spoiled) -> None:
        """Drop what is damaged in a segment, copy what is healthy, and take the file out of the tree."""
        with self._piece():
            if not spoiled.still(self.index):
                return
            with self.index.transaction():
                self._drop(spoiled)
                dead = self.index.drop_dead_segments()
            if spoiled.name in dead and not self.how.delete:
                self._quarantine.take(self.shelf, spoiled.name)
            self._remove(dead)
            if spoiled.name not in dead:
                self._rewrite(spoiled)

    def drop(self, node: Node, reason: str) -> None:
        """Drop a node that contradicts the one above it, and all that hangs on it."""
        with self._piece(), self.index.transaction():
            self.index.set_aside(self.how.now(), node.id, "", reason)
            self.index.drop_below(node.id)
            dead = self.index.drop_dead_segments()
        self._remove(dead)

    def reweigh(self, segment: int, path: Path, payload: int) -> None:
        """Put a segment's sums right."""
        with self._piece(), self.index.transaction():
            self.index.reweigh(segment, allocated(path), payload)
            self.index.resum()

    def recount(self, node: int) -> None:
        """Put a node's counts right."""
        with self._piece(), self.index.transaction():
            self.index.recount(node)

    def resum(self) -> None:
        """Put the sum of all files right."""
        with self._piece(), self.index.transaction():
            self.index.resum()

    def sweep(self, path: Path) -> None:
        """Remove a file that the index does not know; whoever found it holds the lock."""
        with self._piece():
            remove(path)

    @contextlib.contextmanager
    def _piece(self) -> Iterator[None]:
        with self.lock.hold():
            yield
        self.done += 1

    @property
    def _quarantine(self) -> Quarantine:
        return Quarantine.within(self.root, self.how.budget)

    def _drop(self, spoiled: Spoiled) -> None:
        at = self.how.now()
        if spoiled.file:
            lost = [(node, kind, spoiled.file) for node, kind in self.index.blob_rows(spoiled.segment)]
        else:
            lost = [(node, kind, reason) for (node, kind), (_, reason) in spoiled.blobs.items()]
        for node, kind, reason in lost:
            self.index.set_aside(at, node, spoiled.name, reason)
            self.index.drop_damaged(node, kind)
        if spoiled.file:
            self.index.disown(spoiled.segment)

    def _rewrite(self, spoiled: Spoiled) -> None:
        """Copy what lives in a damaged file into another one; without room for that it stays where it is."""
        with contextlib.suppress(RecordingStopped), neighbours(self.root, self.shelf) as (others, fixed):
            holding = Holding(self.shelf, self.index, Identity(self.shelf.identity).root_key)
            sums = self.index.weights(spoiled.segment)
            assert sums is not None
            need = blocks(sums[2]) + REWRITE_SLACK
            make_room((holding, *others), need=need, budget=self.how.budget, fixed=fixed)
            if self.index.weights(spoiled.segment) is None:
                return  # it went to make room
            if not self.how.delete:
                self._quarantine.copy(self.shelf, spoiled.name)
            if sums[2] < sums[1]:
                rewrite(holding, spoiled.segment, spoiled.name)
            else:
                self._fill_gaps(holding, spoiled.name)

    def _fill_gaps(self, holding: Holding, name: str) -> None:
        """Write a file anew whose blobs are all alive and sound: only the bytes between them were not."""
        view = memoryview(map_file(self.shelf.path(name))).toreadonly()
        segment = Segment(view, name=name, root_key=holding.root_key)
        self.shelf.write(name, segment.pieces())

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            remove(self.shelf.path(name))
