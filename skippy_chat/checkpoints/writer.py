"""The one who may change files and index: a lock between processes, and changes that waited for it.

Invariant: every change to any index or file under the root happens while ``hold`` is held. Readers never take it: what
they note (a use, a damage) waits here until someone holds it anyway or nobody else does.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock

from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.quarantine import Quarantine, discard
from skippy_chat.checkpoints.restore import DamageError, FileDamageError
from skippy_chat.checkpoints.shelf import FORMAT, Shelf, remove
from skippy_chat.checkpoints.types import Kind
from skippy_chat.errors import RecordingStopped

WAIT_SECONDS = 30.0
"""Longest wait for another process's commit."""


class WriterLock:
    """The writer lock of a root, between threads and between processes; may be taken again by its holder."""

    def __init__(self, root: Path) -> None:
        self._threads = threading.RLock()
        self._processes = filelock.FileLock(root / FORMAT / "writer.lock", mode=0o600, thread_local=False)
        self._root = root
        self._writing = root / FORMAT / "writing"
        self._depth = 0

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Wait until no thread of this process writes; other processes may."""
        with self._threads:
            yield

    @contextlib.contextmanager
    def hold(self, wait: float = WAIT_SECONDS) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            RecordingStopped: not to be had within ``wait`` seconds, or the folder cannot be written.
        """
        if not self._threads.acquire(timeout=wait):
            raise RecordingStopped("the checkpoint store is being written by another thread.")
        try:
            self._acquire(wait)
            try:
                yield
            finally:
                self._release()
        finally:
            self._threads.release()

    def _acquire(self, wait: float) -> None:
        try:
            self._processes.acquire(timeout=wait)
        except filelock.Timeout:
            raise RecordingStopped(
                "another process is writing the checkpoint store.", "It is tried again at the next turn."
            ) from None
        except OSError as error:
            raise _unwritable(error) from error
        self._depth += 1
        try:
            if self._depth == 1:
                self._begin()
        except OSError as error:
            self._release()
            raise _unwritable(error) from error

    def _begin(self) -> None:
        """Leave a sign that somebody writes; one already there tells that its writer died, perhaps half-way."""
        try:
            os.close(os.open(self._writing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            for shelf in Shelf.all(self._root):
                shelf.unswept.touch(mode=0o600)

    def _release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            remove(self._writing)
        self._processes.release()


def _unwritable(error: OSError) -> RecordingStopped:
    return RecordingStopped(
        f"the checkpoint folder cannot be written: {error.strerror or error}.",
        "Check its permissions and free space, or choose another --cache-dir.",
    )


class Backlog:
    """Uses and damages noted by readers, applied when the writer lock is held; safe for any thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._guard = threading.Lock()
        self._used: dict[int, float] = {}
        self._damages: list[DamageError] = []
        self._gone: set[tuple[int, Kind | None]] = set()

    def touch(self, node: int) -> None:
        """Note that a node was used now."""
        with self._guard:
            self._used[node] = self._now()

    @property
    def pending(self) -> int:
        """How many nodes have a use noted that is not applied."""
        return len(self._used)

    def report(self, damage: DamageError, gone: set[tuple[int, Kind | None]]) -> None:
        """Note damage; from now on what is ``gone`` counts as absent."""
        with self._guard:
            self._damages.append(damage)
            self._gone |= gone

    def hides(self, node: int, kind: Kind | None) -> bool:
        """Whether a blob, or with no kind a node, was found damaged and is not yet dropped from the index."""
        return (node, kind) in self._gone

    @property
    def has_damage(self) -> bool:
        """Whether damage was noted that is not applied."""
        return bool(self._damages)

    def settle(self, index: Index, shelf: Shelf, quarantine: Quarantine) -> None:
        """Apply all that was noted; the writer lock must be held."""
        with self._guard:
            used, damages, gone = dict(self._used), list(self._damages), set(self._gone)
        if not used and not damages:
            return
        with index.transaction():
            index.touch(used)
            for damage in damages:
                self._drop(index, damage)
            dead = index.drop_dead_segments() if damages else []
        spoiled = {damage.at.name for damage in damages if damage.at is not None}
        for name in dead:
            if name in spoiled:
                quarantine.take(shelf, name)
            else:
                remove(shelf.path(name))
        with self._guard:
            self._used = {node: at for node, at in self._used.items() if used.get(node) != at}
            self._damages = self._damages[len(damages) :]
            self._gone -= gone

    def forget(self) -> None:
        """Drop everything noted, the index having been emptied."""
        with self._guard:
            self._used, self._damages, self._gone = {}, [], set()

    def _drop(self, index: Index, damage: DamageError) -> None:
        """Drop what is damaged, unless the index has moved on to other bytes."""
        if isinstance(damage, FileDamageError):
            assert damage.at is not None
            blobs = index.blob_rows(damage.at.segment)
        elif damage.kind is None:
            index.set_aside(self._now(), damage.node.id, "", damage.reason)
            index.drop_below(damage.node.id)
            return
        elif index.blob(damage.node.id, damage.kind) == damage.at:
            blobs = [(damage.node.id, damage.kind)]
        else:
            blobs = []
        for node, kind in blobs:
            index.set_aside(self._now(), node, damage.at.name if damage.at else "", damage.reason)
            index.drop_damaged(node, kind)


def gone_with(damage: DamageError, index: Index) -> set[tuple[int, Kind | None]]:
    """What damage makes unusable: (node, kind) of a blob, (node, None) of a node and all that hangs on it."""
    if isinstance(damage, FileDamageError) and damage.at is not None:
        blobs = index.blob_rows(damage.at.segment)
    elif damage.kind is None:
        return {(damage.node.id, None)}
    else:
        blobs = [(damage.node.id, damage.kind)]
    return {(node, None if kind is Kind.KV else kind) for node, kind in blobs}


def empty(shelf: Shelf, index: Index) -> None:
    """Delete all rows and files of a store; the writer lock must be held."""
    with index.transaction():
        names = index.drop_everything()
    for name in names:
        remove(shelf.path(name))
    index.shrink()
    shelf.sweep(index.names_in)
    discard(shelf)
