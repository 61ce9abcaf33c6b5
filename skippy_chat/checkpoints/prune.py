"""Giving space back on request: old checkpoints, whole models, what was set aside, other versions; down to a size.

Invariant: the writer lock is held for one small step at a time and everything is looked at afresh in each, so that
programs go on recording and reading in between. What goes first is decided where it always is (``make_room``).
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.checkpoints.audit import Audit
from skippy_chat.checkpoints.eviction import REWRITE_SLACK, make_room
from skippy_chat.checkpoints.holding import Holding, blocks, neighbours
from skippy_chat.checkpoints.opening import look
from skippy_chat.checkpoints.quarantine import discard
from skippy_chat.checkpoints.rewriting import rewrite
from skippy_chat.checkpoints.shelf import Shelf, allocated, remove
from skippy_chat.checkpoints.versions import other_versions, remove_version, weigh
from skippy_chat.checkpoints.writer import WriterLock, empty
from skippy_chat.errors import RecordingStopped

OnProgress = Callable[[str, int, int], None]
"""Told (what is being done, done, in all)."""

GIVING_BACK = "giving space back"  # counted in bytes
DROPPING = "dropping old checkpoints"  # counted one by one
STEP_BYTES = 8 << 20
STEP_LEAVES = 128
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class Wish:
    """What to give back.

    ``to``: bytes to come down to; ``unused_since``: seconds, checkpoints not used since then go; ``identity``: begin of
    the identities concerned, which go whole when nothing else is asked; ``all_versions``: other versions' stores too.
    ``budget`` (bytes) is what may be filled meanwhile.
    """

    budget: int
    to: int | None = None
    unused_since: float | None = None
    identity: str = ""
    all_versions: bool = False

    @property
    def target(self) -> int | None:
        """Bytes to come down to; with nothing asked, the budget."""
        if self.to is not None or self.identity or self.unused_since is not None:
            return self.to
        return self.budget

    @property
    def whole(self) -> bool:
        """Whether the identities concerned go whole."""
        return bool(self.identity) and self.to is None and self.unused_since is None


@dataclass(slots=True)
class PruneReport:
    """What was given back, in bytes as the disk counts them; ``left`` says why something was not."""

    before_bytes: int = 0
    after_bytes: int = 0
    quarantine_bytes: int = 0
    stray_bytes: int = 0
    version_bytes: int = 0
    checkpoints: int = 0
    models: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def prune(root: Path, wish: Wish, *, on_progress: OnProgress = lambda *_: None) -> PruneReport:
    """Give back what is wished for.

    Raises:
        RecordingStopped: another process writes for longer than is waited for, or the folder cannot be written.
    """
    if not root.exists():
        return PruneReport()
    pruning = _Pruning(root, wish, on_progress, WriterLock(root), PruneReport(before_bytes=weigh_root(root)))
    return pruning.run()


def weigh_root(root: Path) -> int:
    """Bytes of everything under a root, other versions included."""
    return weigh(root) if root.exists() else 0


@dataclass(slots=True)
class _Pruning:
    root: Path
    wish: Wish
    on_progress: OnProgress
    lock: WriterLock
    report: PruneReport

    def run(self) -> PruneReport:
        if self.wish.all_versions:
            self._versions()
        for shelf in self._shelves():
            self._tidy(shelf)
            if self.wish.whole:
                self._remove(shelf)
            elif self.wish.unused_since is not None:
                self._age(shelf, self.wish.unused_since)
        if self.wish.target is not None and self._shelves():
            self._come_down(self.wish.target)
        self.report.after_bytes = weigh_root(self.root)
        return self.report

    def _shelves(self) -> list[Shelf]:
        return [shelf for shelf in Shelf.all(self.root) if shelf.identity.startswith(self.wish.identity)]

    def _versions(self) -> None:
        for version in other_versions(self.root):
            try:
                freed = remove_version(self.root, version)
            except OSError as error:
                self.report.left.append(f"{version.name}: {error.strerror or error}")
                continue
            if freed:
                self.report.versions.append(version.name)
                self.report.version_bytes += freed
            else:
                self.report.left.append(f"{version.name}: a program of that version is writing it")

    def _tidy(self, shelf: Shelf) -> None:
        """Remove what was set aside, and files that nobody names, a folder at a time."""
        with self.lock.hold():
            self.report.quarantine_bytes += discard(shelf)
            self._sweep(shelf.unfinished())
        with opened(shelf) as index:
            if index is None:
                return
            for shard in shelf.shards():
                with self.lock.hold():
                    self._sweep(shelf.strays_in(shard, index.names_in(shard)))

    def _sweep(self, strays: Iterator[Path]) -> None:
        for path in strays:
            self.report.stray_bytes += allocated(path)
            remove(path)

    def _remove(self, shelf: Shelf) -> None:
        """Remove an identity's store whole; while a program has it open, all that is in it."""
        with self.lock.hold():
            alone = True
            with opened(shelf) as index:
                if index is not None:
                    self.report.checkpoints += index.totals()["nodes"]
                    empty(shelf, index)
                    alone = index.alone()
            if alone:
                shutil.rmtree(shelf.home, ignore_errors=True)
                with contextlib.suppress(OSError):
                    shelf.home.parent.rmdir()
        if shelf.home.exists():
            self.report.left.append(
                f"{shelf.identity[:12]}…: a program has it open, so its empty index stays"
            )
        else:
            self.report.models.append(shelf.identity)

    def _age(self, shelf: Shelf, since: float) -> None:
        """Drop what was not used since then, leaf by leaf, and remove a store that nothing is left in."""
        with opened(shelf) as index:
            if index is None:
                return
            total, done = index.unused(since)[0], 0
            while dropped := self._drop_aged(shelf, index, since):
                done += dropped
                self.report.checkpoints += dropped
                self.on_progress(DROPPING, done, max(done, total))
            self._reclaim(shelf)
            with self.lock.hold():
                index.shrink()
            bare = not index.nodes_after(0, 1)
        if bare:
            self._remove(shelf)

    def _drop_aged(self, shelf: Shelf, index: Audit, since: float) -> int:
        with self.lock.hold():
            with index.transaction():
                leaves = index.leaves_before(since, STEP_LEAVES)
                for leaf in leaves:
                    index.drop_leaf(leaf)
                dead = index.drop_dead_segments()
            for name in dead:
                remove(shelf.path(name))
            if allocated(shelf.log) > STEP_BYTES:
                index.shrink()
        return len(leaves)

    def _reclaim(self, shelf: Shelf) -> None:
        """Rewrite half-dead files as far as there is room to."""
        while True:
            with self.lock.hold(), self._holdings() as (chosen, fixed):
                holding = next((each for each in chosen if each.shelf.home == shelf.home), None)
                used = fixed + sum(each.weight() for each in chosen)
                room = max(self.wish.budget, self.report.before_bytes) - used
                if holding is None or not self._rewrite_one(holding, room):
                    return

    def _rewrite_one(self, holding: Holding, room: int) -> bool:
        for segment, name, live in holding.index.half_dead():
            if blocks(live) + REWRITE_SLACK <= room:
                rewrite(holding, segment, name)
                return True
        return False

    def _come_down(self, target: int) -> None:
        first = self._step_down(None)
        used = first
        while used > target:
            self.on_progress(GIVING_BACK, first - used, first - target)
            try:
                used = self._step_down(target)
            except RecordingStopped:
                self.report.left.append(f"{used} bytes are in use by what cannot go: indexes and folders")
                return
        self.on_progress(GIVING_BACK, first - used, max(0, first - target))

    def _step_down(self, target: int | None) -> int:
        """Give a little back, dead space first, and return the bytes still in use; with no target only those.

        Raises:
            RecordingStopped: nothing more can go.
        """
        with self.lock.hold(), self._holdings() as (chosen, fixed):
            used = fixed + sum(each.weight() for each in chosen)
            if target is None or used <= target:
                return used
            room = max(self.wish.budget, self.report.before_bytes) - used
            if not any(self._rewrite_one(each, room) for each in chosen):
                goal = max(target, used - STEP_BYTES)
                self.report.checkpoints += make_room(chosen, need=0, budget=goal, fixed=fixed).nodes
            return fixed + sum(each.weight() for each in chosen)

    @contextlib.contextmanager
    def _holdings(self) -> Iterator[tuple[list[Holding], int]]:
        """The stores concerned, and the bytes of all else that counts against the budget."""
        with neighbours(self.root, Shelf.of(self.root, _NOBODY)) as (every, fixed):
            chosen = [each for each in every if each.shelf.identity.startswith(self.wish.identity)]
            others = [each for each in every if each not in chosen]
            yield chosen, fixed + sum(each.weight() for each in others)


@contextlib.contextmanager
def opened(shelf: Shelf) -> Iterator[Audit | None]:
    """A store's index; None when it cannot be read."""
    try:
        index = look(shelf, Audit)
    except (sqlite3.Error, OSError):
        yield None
        return
    try:
        yield index
    finally:
        index.close()
