"""Reading every byte of every store: files against their digests, the index against the files and against itself.

Invariant: without ``Mending`` nothing is changed. Others may record and evict meanwhile: whatever they moved while it
was being read is looked up again with the writer lock held, and only what is still wrong then is called damage.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.checkpoints.audit import PAGE, Audit
from skippy_chat.checkpoints.mending import Mend, Mending, Spoiled
from skippy_chat.checkpoints.opening import look
from skippy_chat.checkpoints.restore import DamageError, map_file, prove_link
from skippy_chat.checkpoints.segment import Place, Segment, SegmentError
from skippy_chat.checkpoints.shelf import Shelf, allocated
from skippy_chat.checkpoints.types import Identity, Node, VerifyReport
from skippy_chat.checkpoints.writer import WriterLock
from skippy_chat.errors import RecordingStopped

OnBytes = Callable[[int, int], None]
"""Told (bytes read, bytes in all)."""

CHUNK = 4 << 20
PARENTS = 16 * PAGE


def verify(
    root: Path,
    *,
    identity: str = "",
    mending: Mending | None = None,
    on_bytes: OnBytes = lambda *_: None,
) -> list[VerifyReport]:
    """Read whole every store below ``root`` whose identity begins so, and report all that is not as recorded.

    With ``mending`` what is damaged is set aside or deleted, and the healthy rest stays.
    """
    shelves = [shelf for shelf in Shelf.all(root) if shelf.identity.startswith(identity)]
    meter = _Meter(on_bytes, sum(_size(shelf) for shelf in shelves))
    return [_verify(root, shelf, mending, meter) for shelf in shelves]


@dataclass(slots=True)
class _Meter:
    tell: OnBytes
    total: int
    done: int = 0

    def add(self, count: int) -> None:
        self.done += count
        self.tell(self.done, max(self.total, self.done))


def _size(shelf: Shelf) -> int:
    try:
        with contextlib.closing(look(shelf, Audit)) as index:
            return index.payload()
    except (sqlite3.Error, OSError):
        return 0


def _verify(root: Path, shelf: Shelf, mending: Mending | None, meter: _Meter) -> VerifyReport:
    try:
        with contextlib.closing(look(shelf, Audit)) as index:
            lock = WriterLock(root)
            mend = None if mending is None else Mend(root, shelf, index, lock, mending)
            return _Verifier(shelf, index, lock, mend, meter, Identity(shelf.identity).root_key).report()
    except (sqlite3.Error, OSError) as error:
        anew = ""
        if mending is not None and type(error) is sqlite3.DatabaseError:  # malformed, not merely busy
            with contextlib.suppress(OSError):
                shelf.suspect.touch(mode=0o600)
                anew = "; it is set aside when the model is next used"
        return VerifyReport(shelf.identity, 0, 0, 0, (f"index cannot be read: {error}{anew}",))


@dataclass(slots=True)
class _Verifier:
    """One store being read."""

    shelf: Shelf
    index: Audit
    lock: WriterLock
    mend: Mend | None
    meter: _Meter
    root_key: bytes
    problems: list[str] = field(default_factory=list)

    def report(self) -> VerifyReport:
        fault = self.index.faults()
        if fault:
            raise sqlite3.DatabaseError(fault)
        segments, size = self._segments()
        nodes = self._nodes()
        if self.index.missummed():
            self._found("index: wrong sum of the files' sizes", Mend.resum)
        self._strays()
        mended = 0 if self.mend is None else self.mend.done
        return VerifyReport(self.shelf.identity, nodes, segments, size, tuple(self.problems), mended)

    def _found(self, problem: str, how: Callable[..., None], *what: object) -> None:
        """Note a problem, and have it mended."""
        if self.mend is not None:
            try:
                how(self.mend, *what)
            except RecordingStopped as busy:
                problem += f" (left as it is: {busy.message})"
        self.problems.append(problem)

    def _writers_done(self) -> None:
        """Wait until whoever is writing has finished; where nothing can be written nobody is."""
        with contextlib.suppress(RecordingStopped), self.lock.hold():
            pass

    def _segments(self) -> tuple[int, int]:
        count, size, last = 0, 0, 0
        while page := self.index.segments_after(last, PAGE):
            for row, name in page:
                size += self._segment(row, name)
            count += len(page)
            last = page[-1][0]
        return count, size

    def _segment(self, row: int, name: str) -> int:
        spoiled = Spoiled(row, name)
        path = self.shelf.path(name)
        size, payload = self._read(spoiled, path)
        if spoiled:
            self._writers_done()
            if spoiled.still(self.index):
                what = "; ".join(dict.fromkeys(spoiled.reasons()))
                self._found(f"segment {name[:12]}…: {what}", Mend.set_aside, spoiled)
        elif (sums := self.index.weights(row)) is not None:
            on_disk, written, live, counted = sums
            if (written, live) != (payload, counted):
                self._found(
                    f"segment {name[:12]}…: wrong sums in the index", Mend.reweigh, row, path, payload
                )
            elif self.mend is not None and on_disk != allocated(path) > 0:
                self.mend.reweigh(row, path, payload)  # some file systems settle blocks long after writing
        return size

    def _read(self, spoiled: Spoiled, path: Path) -> tuple[int, int]:
        """Prove every byte of a segment, and that the index agrees: bytes of the file, and of its blobs."""
        size = 0
        try:
            size = self._fetch(path)
            view = memoryview(map_file(path)).toreadonly()
            segment = Segment(view, name=spoiled.name, root_key=self.root_key)
        except FileNotFoundError:
            spoiled.file = "missing file"
        except SegmentError as bad:
            spoiled.file = str(bad)
        except OSError as error:
            spoiled.file = f"cannot be read: {error.strerror or error}"
        else:
            self._prove(segment, spoiled)
            return size, segment.payload_bytes
        return size, 0

    def _fetch(self, path: Path) -> int:
        """Read a file from the disk itself, where the system can forget what it holds of it in memory.

        A bad sector is an error here; met through a mapping it would be a signal.
        """
        size = 0
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            while chunk := os.read(fd, CHUNK):
                size += len(chunk)
                self.meter.add(len(chunk))
        finally:
            os.close(fd)
        return size

    def _prove(self, segment: Segment, spoiled: Spoiled) -> None:
        try:
            segment.prove_gaps()
        except SegmentError as bad:
            spoiled.space.append(str(bad))
        wrong = {key: fault for key in segment.blobs if (fault := segment.fault(key))}
        for node, parent_key, _, kind, at in self.index.blobs_of(spoiled.segment):
            reason = wrong.pop((node.key, kind), "")
            try:
                place = Place(node.key, parent_key or self.root_key, node.position, node.tokens, node.mode)
                segment.expect(place, kind, at.offset, at.size)
            except SegmentError as bad:
                reason = reason or str(bad)
            if reason:
                spoiled.blobs[node.id, kind] = (at, reason)
        spoiled.space += [f"{reason}, in space no longer used" for reason in wrong.values()]

    def _nodes(self) -> int:
        count, last = 0, 0
        parents: dict[int, Node] = {}
        while page := self.index.nodes_after(last, PAGE):
            if len(parents) > PARENTS:
                parents = {}
            for node, ids in page:
                self._node(node, ids, parents)
                parents[node.id] = node
            last = page[-1][0].id
            for wrong in self.index.miscounted(page[0][0].id, last):
                self._found(
                    f"node {wrong}: wrong counts in the index",
                    Mend.recount,
                    wrong,
                )
            count += len(page)
        return count

    def _node(self, node: Node, ids: bytes, parents: dict[int, Node]) -> None:
        if node.parent is not None and node.parent not in parents:
            found = self.index.node(node.parent)
            if found is not None:
                parents[node.parent] = found[0]
        above = None if node.parent is None else parents.get(node.parent)
        if self._wrong(node, ids, above) and (reason := self._again(node)):
            problem = f"node at token {node.position}: {reason}"
            self._found(problem, Mend.drop, node, reason)

    def _again(self, node: Node) -> str:
        """What is wrong with a node, read afresh once whoever was writing has finished."""
        self._writers_done()
        with self.index.transaction(write=False):
            found = self.index.node(node.id)
            if found is None:
                return ""
            parent = found[0].parent
            above = None if parent is None else self.index.node(parent)
        return self._wrong(*found, None if above is None else above[0])

    def _wrong(self, node: Node, ids: bytes, above: Node | None) -> str:
        if node.parent is not None and above is None:
            return "its parent is gone"
        try:
            prove_link(above, node, ids, self.root_key)
        except DamageError as damage:
            return damage.reason
        if above is not None and above.has_kv and not node.has_kv:
            return "missing rows"
        return ""

    def _strays(self) -> None:
        """Look for files that nobody names, one folder at a time, so that writers wait for one folder at most."""
        for shard in self.shelf.shards():
            with contextlib.suppress(RecordingStopped), self.lock.hold():  # a writer's new file is no stray
                self._stray(list(self.shelf.strays_in(shard, self.index.names_in(shard))))
        with contextlib.suppress(RecordingStopped), self.lock.hold():
            self._stray(list(self.shelf.unfinished()))

    def _stray(self, found: list[Path]) -> None:
        for path in found:
            self._found(f"{path.name[:12]}…: not in the index", Mend.sweep, path)
