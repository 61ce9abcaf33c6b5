"""Committing a recording: plan against the index, make room, write its files, show them in one transaction.

Invariant: the files are durable before the index shows them; a failure at any step shows nothing and leaves no file,
and a crash at any step leaves at most strays that are swept later. Whatever happens, the budget holds.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from skippy_chat.checkpoints.eviction import Evicted, make_room, spared
from skippy_chat.checkpoints.holding import BLOCK, Holding, blocks, neighbours
from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.plan import Plan, Planned, file_bytes, lay_out_files, make_plan
from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.checkpoints.segment import Layout
from skippy_chat.checkpoints.shelf import Shelf, allocated, remove
from skippy_chat.checkpoints.types import ROOT, Kind, Recorded
from skippy_chat.checkpoints.worth import WORTHLESS, rank_anew, tick
from skippy_chat.errors import RecordingStopped

LOG_BYTES = 1 << 20
"""Size of the index's write-ahead log at which it is folded back into the index."""

SLACK = 128 * BLOCK
"""Room for the index's log while others are being dropped; a small budget gives a sixteenth."""

FILE_PARTS = 64
FILE_LEAST = 1 << 18
"""Rows are written in files of about a 64th of the budget, so that little else goes with what is dropped."""

Files = Sequence[tuple[Layout, list[Planned]]]


@dataclass(frozen=True, slots=True)
class Committer:
    """Commits recordings into one identity's store; the writer lock must be held."""

    root: Path
    shelf: Shelf
    index: Index
    root_key: bytes
    budget: int
    now: Callable[[], float]

    def commit(self, recording: Recording) -> tuple[Recorded, set[int]]:
        """Carry out ``Recording.commit``; also the row ids of the nodes it met or extended.

        Raises:
            RecordingStopped: it could not be done; nothing is shown.
        """
        try:
            plan = make_plan(self.index, self.root_key, recording)
            written = self._write(plan)
            self._resolve(recording)
            used = plan.keep | self._beginning(plan)
        except OSError as error:
            raise RecordingStopped(
                f"checkpoints cannot be written: {error.strerror or error}.",
                "Free disk space or check the cache folder's permissions.",
            ) from error
        except sqlite3.Error as error:
            raise RecordingStopped(
                f"the checkpoint index cannot be written: {error}.",
                "Free disk space or check the cache folder's permissions.",
            ) from error
        return Recorded(len(plan.nodes), plan.states, written, plan.position), used

    @property
    def limit(self) -> int:
        """Bytes up to which the store is filled."""
        return self.budget - min(SLACK, self.budget // 16)

    def _write(self, plan: Plan) -> int:
        files = lay_out_files(self.root_key, plan, max(FILE_LEAST, self.budget // FILE_PARTS))
        with neighbours(self.root, self.shelf) as (others, fixed):
            own = Holding(self.shelf, self.index, self.root_key, frozenset(plan.keep))
            evicted = self._make_room(plan, files, (own, *others), fixed)
            if evicted != Evicted():
                with self.index.transaction():
                    self.index.write_note("last_eviction", f"{_utc(self.now())}: {evicted}")
            if not plan.empty:
                clock = max(each.index.clock() for each in (own, *others))
                self._show(plan, files, clock + tick(file_bytes(files), self.budget))
                if allocated(self.shelf.log) > LOG_BYTES:
                    self.index.shrink()
                self._hold_budget(plan, own, others, fixed)
        return file_bytes(files)

    def _make_room(self, plan: Plan, files: Files, holdings: tuple[Holding, ...], fixed: int) -> Evicted:
        """Make room for a plan; without one, come down to a budget that was lowered."""
        need = 0 if plan.empty else _index_growth(plan)
        need += sum(blocks(layout.file_bytes) + 2 * BLOCK for layout, _ in files)  # a folder may be new
        try:
            if need and (kept := self._kept(plan, need)) > self.limit:
                raise RecordingStopped(  # say so before evicting everything else in vain
                    f"the checkpoint budget of {self.budget} bytes has no room for {need} more beside the"
                    f" {kept - need} they extend.",
                    "Raise the disk budget; the conversation goes on without new checkpoints.",
                )
            return make_room(holdings, need=need, budget=self.limit, fixed=fixed)
        except RecordingStopped:
            with contextlib.suppress(RecordingStopped):  # what is not extended need not be kept either
                nothing_kept = [replace(each, keep=frozenset()) for each in holdings]
                make_room(nothing_kept, need=0, budget=self.limit, fixed=fixed)
            raise

    def _kept(self, plan: Plan, need: int) -> int:
        """``need``, and the bytes that this plan extends and that so cannot make room for it."""
        if need <= self.limit - self.shelf.overhead() - self.index.allocated():
            return need
        nodes: dict[int, int] = {}
        for anchor in plan.keep:
            spine = self.index.spine(anchor)
            last = {spot.id for spot in spared(spine)[1]}
            nodes |= {spot.id: spot.kv + (spot.captured if spot.id in last else 0) for spot in spine}
        return need + sum(nodes.values())

    def _beginning(self, plan: Plan) -> set[int]:
        """The first state on the way to what was extended: a conversation that goes on uses it too."""
        for anchor in sorted(plan.keep)[-1:]:
            first = [spot.id for spot in self.index.spine(anchor) if spot.state][:1]
            return set(first)
        return set()

    def _show(self, plan: Plan, files: Files, clock: float) -> None:
        paths: list[Path] = []
        shown = {layout.name for layout, _ in files if self.index.segment(layout.name) is not None}
        try:
            for layout, planned in files:
                pieces: list[tuple[int, bytes | memoryview]] = [(0, layout.head)]
                pieces += [(e.offset, data) for e, (_, _, data) in zip(layout.blobs, planned, strict=True)]
                paths.append(self.shelf.write(layout.name, pieces))
            with self.index.transaction():
                self._insert(plan, files, paths, clock)
        except BaseException:
            for path in paths:
                if path.stem not in shown:
                    remove(path)
            raise

    def _insert(self, plan: Plan, files: Files, paths: Sequence[Path], clock: float) -> None:
        index, used = self.index, self.now()
        ids = plan.known
        for entry in plan.nodes:
            at = entry.place
            ids[at.key] = index.add_node(
                ids[at.parent_key], at.key, at.mode, at.position, used, entry.ids, aged=clock, rank=WORTHLESS
            )
        for (layout, _), path in zip(files, paths, strict=True):
            payload = sum(entry.size for entry in layout.blobs)
            # An equal file may be there for a row that names the wrong node; written again, it is what it should be.
            segment = index.segment(layout.name)
            if segment is None:
                segment = index.add_segment(layout.name, allocated(path), payload)
            for blob in layout.blobs:
                index.add_blob(ids[blob.place.key], blob.kind, segment, blob.offset, blob.size)
        index.set_clock(clock)
        if plan.states:
            index.write_note("partial", "1")
        self._rank(plan)

    def _rank(self, plan: Plan) -> None:
        """Rank what may go from now on."""
        partial = self.index.note("partial") is not None
        changed = [entry.place.key for entry in plan.nodes]
        changed += [place.key for place, kind, _ in plan.blobs if kind is not Kind.KV]
        for key in dict.fromkeys(changed):
            rank_anew(self.index, plan.known[key], partial=partial)

    def _hold_budget(self, plan: Plan, own: Holding, others: list[Holding], fixed: int) -> None:
        """Keep the promise when the index grew by more than was reserved for it."""
        fresh = [plan.known[entry.place.key] for entry in plan.nodes]
        held = replace(own, keep=own.keep | frozenset(fresh))
        try:
            make_room((held, *others), need=0, budget=self.budget, fixed=fixed)
        except RecordingStopped:
            with self.index.transaction():
                for place, kind, _ in plan.blobs:
                    self.index.drop_blob(plan.known[place.key], kind)
                for node in reversed(fresh):
                    self.index.drop_leaf(node)
                dead = self.index.drop_dead_segments()
            for name in dead:
                remove(self.shelf.path(name))
            self.index.shrink()
            raise

    def _resolve(self, recording: Recording) -> None:
        """Tell every pending node what it became, and let go of what it held."""
        for pending in recording.added:
            above = pending.parent.node if isinstance(pending.parent, Pending) else pending.parent
            found = self.index.child(above.id if above else ROOT, pending.key)
            pending.node = found[0] if found else None
            pending.parent = above


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat(timespec="seconds")


def _index_growth(plan: Plan) -> int:
    """Bytes the index and its log may grow by: each row once in the file and once in the log, pages part full."""
    rows = sum(len(entry.ids) + 400 for entry in plan.nodes) + 100 * len(plan.blobs)
    return 3 * rows + 40 * BLOCK
