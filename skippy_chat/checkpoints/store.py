"""The checkpoint tree of one model identity on disk, as the engine sees it.

Invariant: what a lookup offers is durable and what ``map`` hands out is proven; every other outcome is a miss with a
reason. Any method may be called from any thread; only recording, clearing and closing can wait for another process.
"""

from __future__ import annotations

import bisect
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from skippy_chat.checkpoints.commit import Committer
from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.model_note import ModelNote, write_note
from skippy_chat.checkpoints.opening import open_index, open_to_read
from skippy_chat.checkpoints.quarantine import Quarantine
from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.checkpoints.restore import DamageError, Mapped, MissingFileError, Trace, open_trace, trace
from skippy_chat.checkpoints.shelf import ReadOnlyFolder, Shelf
from skippy_chat.checkpoints.survey import figures, used_bytes
from skippy_chat.checkpoints.types import (
    ROOT,
    Edge,
    EvictedCheckpoint,
    Identity,
    Kind,
    Node,
    Recorded,
    StoreStats,
)
from skippy_chat.checkpoints.types import node_key as key_of
from skippy_chat.checkpoints.writer import Backlog, WriterLock, empty, gone_with
from skippy_chat.errors import CheckpointError, DamagedCheckpoint, RecordingStopped

Parent: TypeAlias = "Node | Pending | None"

TRACES = 3
"""Times a path is looked up again when its files move under the reader."""

DAMAGE_SECONDS = 5.0
"""Longest wait for another process's commit at closing, to have damage dropped that the next start would meet again."""

TOUCHES = 1024
"""Uses noted before they are written without waiting for a commit."""


class CheckpointStore:
    """One identity's checkpoints; made by ``open``."""

    def __init__(
        self,
        shelf: Shelf,
        lock: WriterLock,
        committer: Committer | None,
        reader: Index,
        quarantine: Quarantine,
        identity: Identity,
        *,
        budget: int,
        now: Callable[[], float],
        notice: str | None,
    ) -> None:
        self.identity = identity
        self.notice = notice
        self._committer = committer
        self._shelf = shelf
        self._root_key = identity.root_key
        self._reader = reader
        self._quarantine = quarantine
        self._budget = budget
        self._guard = threading.Lock()
        self._lock = lock
        self._backlog = Backlog(now)
        self._closed = False

    @classmethod
    def open(
        cls, root: Path, identity: Identity, *, budget_bytes: int, now: Callable[[], float]
    ) -> CheckpointStore:
        """Open or create the store of ``identity`` below ``root``; one that cannot be written is read all the same.

        ``budget_bytes`` bounds what all identities below ``root`` allocate on disk; ``now`` tells seconds.

        Raises:
            CheckpointError: the folder cannot be made, read, or trusted.
        """
        shelf = Shelf.of(root, identity.digest)
        lock = WriterLock(root)
        quarantine = Quarantine.within(root, budget_bytes)
        committer = None
        try:
            shelf.prepare(root, identity)
            writer, reader, notice = open_index(shelf, lock, identity, quarantine)
            committer = Committer(root, shelf, writer, identity.root_key, budget_bytes, now)
        except ReadOnlyFolder as refused:
            reader = open_to_read(shelf)
            notice = f"{_sentence(refused.message)} What it holds is used; nothing new is kept."
        return cls(
            shelf, lock, committer, reader, quarantine, identity, budget=budget_bytes, now=now, notice=notice
        )

    @property
    def read_only(self) -> bool:
        """Whether the folder cannot be written, so that every commit is refused."""
        return self._committer is None

    @property
    def budget_bytes(self) -> int:
        """What all identities below the root may allocate on disk."""
        return self._budget

    def used_bytes(self) -> int:
        """Bytes that all identities below the root allocate on disk now."""
        return used_bytes(self._shelf.root)

    def has_evicted(self) -> bool:
        """Whether anything ever had to go here so that something else could be kept.

        Raises:
            CheckpointError: the index cannot be read.
        """
        with self._reading() as index:
            return index.note("last_eviction") is not None

    def child(self, parent: Node | None, edge: Edge) -> Node | None:
        """The node reached from ``parent`` (None: the root) over exactly this edge.

        Raises:
            CheckpointError: the index cannot be read.
        """
        key = key_of(self._root_key if parent is None else parent.key, edge.mode, edge.ids)
        with self._reading() as index:
            found = index.child(ROOT if parent is None else parent.id, key)
        if found is None or found[1] != edge.ids or found[0].mode is not edge.mode:
            return None
        return self._seen(found[0])

    def children(self, parent: Node | None) -> list[tuple[Node, bytes]]:
        """All nodes below ``parent``, each with the ids of its edge."""
        with self._reading() as index:
            found = index.children(ROOT if parent is None else parent.id)
        return [(seen, ids) for node, ids in found if (seen := self._seen(node)) is not None]

    def shared_below(self, parent: Node | None, ids: bytes) -> int | None:
        """How many tokens of ``ids`` some edge below ``parent`` begins with at most; None when there is no edge.

        Quick also where thousands of prompts went on differently from one system prompt.
        """
        with self._reading() as index:
            found = index.edges(ROOT if parent is None else parent.id)
        edges = sorted(edge for node, edge in found if not self._backlog.hides(node, None))
        at = bisect.bisect(edges, ids)
        # In order, whatever begins most alike stands next to it.
        near = edges[max(at - 1, 0) : at + 1]
        return max((_shared(ids, each) for each in near), default=None)

    def path(self, node: Node) -> list[Node]:
        """The nodes from the root to ``node``, root first; empty when it is no longer stored."""
        with self._reading() as index:
            return [each for each, _ in index.lineage(node.id)]

    def recording(self) -> Recording:
        """Begin to collect one segment."""
        return Recording(self._root_key, self._commit)

    def map(self, node: Node, *, kv_from: int = 0, state: bool = True, logits: bool = False) -> Mapped:
        """Map and prove everything needed to restore ``node``; close the result, or use it in ``with``.

        ``kv`` covers every edge that ends after ``kv_from`` (whole edges), empty for models without attention;
        ``state`` and ``logits`` are None where the node has none.

        Raises:
            EvictedCheckpoint: it was evicted or cleared since it was looked up.
            DamagedCheckpoint: bytes are not as recorded; they are set aside and not offered again.
            CheckpointError: the index or the files cannot be read just now.
        """
        for _ in range(TRACES):
            mapped = self._map(node, kv_from, state=state, logits=logits)
            if mapped is not None:
                return mapped
        raise EvictedCheckpoint(f"the checkpoint at token {node.position} keeps moving under the reader.")

    def touch(self, node: Node) -> None:
        """Note that ``node``, and with it all above it, was used now; written with the next commit."""
        if self.read_only:
            return
        self._backlog.touch(node.id)
        if self._backlog.pending >= TOUCHES:
            self._settle(wait=0.0)

    def stats(self) -> StoreStats:
        """Count what is stored and what it weighs."""
        with self._reading() as index:
            return figures(self._shelf, index, budget_bytes=self._budget, notice=self.notice)

    def describe(self, note: ModelNote) -> None:
        """Note what model this is, for people; where that cannot be written nothing is lost."""
        if not self.read_only:
            with contextlib.suppress(OSError):
                write_note(self._shelf, note)

    def clear(self) -> None:
        """Forget every checkpoint of this identity.

        Raises:
            RecordingStopped: another process is writing, or the folder cannot be written.
        """
        committer = self._writing()
        with self._lock.hold():
            empty(self._shelf, committer.index)
            self._backlog.forget()

    def close(self) -> None:
        """Write what was noted, unless another process is writing, and close; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._settle(wait=DAMAGE_SECONDS if self._backlog.has_damage else 0.0)
        with self._guard:
            self._reader.close()
        if self._committer is not None:
            with self._lock.quiet():
                self._committer.index.close()

    def _writing(self) -> Committer:
        if self._committer is None:
            raise RecordingStopped(
                f"the checkpoint folder {self._shelf.home} cannot be written.",
                "Choose another with --cache-dir; until then nothing new is kept.",
            )
        return self._committer

    def _commit(self, recording: Recording) -> Recorded:
        committer = self._writing()
        with self._lock.hold():
            try:
                self._backlog.settle(committer.index, self._shelf, self._quarantine)
            except sqlite3.Error as error:
                raise RecordingStopped(f"the checkpoint index cannot be written: {error}.") from error
            recorded, used = committer.commit(recording)
        for node in used:
            self._backlog.touch(node)
        return recorded

    def _settle(self, *, wait: float) -> None:
        if self._committer is None:
            return
        with contextlib.suppress(RecordingStopped, sqlite3.Error), self._lock.hold(wait):
            self._backlog.settle(self._committer.index, self._shelf, self._quarantine)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Index]:
        with self._guard:
            try:
                yield self._reader
            except sqlite3.Error as error:
                if type(error) is sqlite3.DatabaseError:  # malformed, not merely busy
                    with contextlib.suppress(OSError):
                        self._shelf.suspect.touch(mode=0o600)
                raise CheckpointError(
                    f"the checkpoint index cannot be read: {error}.",
                    "If it is damaged it is set aside and begun anew at the next start.",
                ) from error

    def _seen(self, node: Node) -> Node | None:
        """A node without what was found damaged and waits to be dropped."""
        if self._backlog.hides(node.id, None):
            return None
        if self._backlog.hides(node.id, Kind.STATE):
            node = replace(node, has_state=False, state_bytes=0)
        if self._backlog.hides(node.id, Kind.LOGITS):
            node = replace(node, has_logits=False)
        return node

    def _map(self, node: Node, kv_from: int, *, state: bool, logits: bool) -> Mapped | None:
        """Carry out ``map`` once; None when a file moved between looking it up and opening it."""
        try:
            found = self._trace(node, kv_from, state=state, logits=logits)
            return open_trace(self._shelf, found, self._root_key)
        except MissingFileError as fault:
            if self._unmoved(fault):
                raise self._quarantined(fault) from None
            return None
        except DamageError as fault:
            raise self._quarantined(fault) from None
        except OSError as error:
            raise CheckpointError(
                f"a checkpoint cannot be mapped: {error.strerror or error}.",
                "It is kept; free memory or file descriptors.",
            ) from error

    def _trace(self, node: Node, kv_from: int, *, state: bool, logits: bool) -> Trace:
        with self._reading() as index:
            found = trace(index, node, kv_from=kv_from, state=state, logits=logits, root_key=self._root_key)
        if found is None:
            raise EvictedCheckpoint(f"the checkpoint at token {node.position} was evicted.")
        promised = {Kind.STATE: state and node.has_state, Kind.LOGITS: logits and node.has_logits}
        kinds = {want.kind for want in found.wanted}
        for kind, wanted in promised.items():
            if wanted and kind not in kinds:
                raise EvictedCheckpoint(f"the {kind.name.lower()} at token {node.position} was evicted.")
        hidden = any(self._backlog.hides(each.id, None) for each, _ in found.line)
        if hidden or any(self._backlog.hides(node.id, kind) for kind in kinds):
            raise DamagedCheckpoint(f"the checkpoint at token {node.position} was found damaged before.")
        return found

    def _unmoved(self, fault: MissingFileError) -> bool:
        assert fault.kind is not None
        with self._reading() as index:
            return index.blob(fault.node.id, fault.kind) == fault.at

    def _quarantined(self, fault: DamageError) -> DamagedCheckpoint:
        with self._reading() as index:
            self._backlog.report(fault, gone_with(fault, index))
        self._settle(wait=0.0)
        return DamagedCheckpoint(
            f"the checkpoint at token {fault.node.position} is damaged: {fault.reason}.",
            "It is set aside; those tokens are read again and recorded afresh.",
        )


def _shared(first: bytes, second: bytes) -> int:
    """Return how many tokens two runs of int32 ids have in common from the start."""
    pairs = enumerate(zip(first, second, strict=False))
    apart = (at for at, (one, other) in pairs if one != other)
    return next(apart, min(len(first), len(second))) // 4


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]
