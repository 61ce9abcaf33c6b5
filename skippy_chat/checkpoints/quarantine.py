"""Damaged files kept aside, for a look at what the disk did to them: ``<identity>/quarantine/``.

Invariant: nothing is ever read from here; its bytes count against the budget and stay below a small part of it, the
oldest going first, so that damage can neither come back nor fill the disk. The writer lock must be held throughout.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.checkpoints.shelf import Shelf, allocated, private_folder, remove

MOST = 32 << 20
PART = 16


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The quarantine folders of all identities under ``root``, together at most ``cap`` bytes."""

    root: Path
    cap: int

    @classmethod
    def within(cls, root: Path, budget: int) -> Quarantine:
        """Return the one that goes with a budget in bytes."""
        return cls(root, min(MOST, budget // PART))

    def take(self, shelf: Shelf, name: str) -> None:
        """Move a segment file here, out of the tree's reach; what does not fit is deleted."""
        path = shelf.path(name)
        if self._make_room(shelf, allocated(path)):
            with contextlib.suppress(OSError):
                path.replace(shelf.quarantine / path.name)
        remove(path)

    def copy(self, shelf: Shelf, name: str) -> None:
        """Keep a segment file here that still serves in the tree, as far as file system and cap let us."""
        path = shelf.path(name)
        if self._make_room(shelf, allocated(path)):
            with contextlib.suppress(OSError):
                os.link(path, shelf.quarantine / path.name)

    def take_index(self, shelf: Shelf) -> bool:
        """Keep an index that was set aside; False when it was deleted for its size."""
        size = allocated(shelf.aside)
        if size > self.cap:
            remove(shelf.aside)
            return False
        self._evict(self.cap - size, spare=shelf.aside)
        return True

    def _make_room(self, shelf: Shelf, size: int) -> bool:
        folder = allocated(shelf.quarantine) or 4096
        if size + folder > self.cap:
            return False
        private_folder(shelf.quarantine)
        self._evict(self.cap - size)
        return True

    def _evict(self, left: int, spare: Path | None = None) -> None:
        kept = [path for path in held(self.root) if path != spare]
        weights = [allocated(path) for path in kept]
        total = sum(weights) + sum(allocated(shelf.quarantine) for shelf in Shelf.all(self.root))
        for path, weight in zip(kept, weights, strict=True):
            if total <= left:
                return
            remove(path)
            total -= weight


def held(root: Path) -> list[Path]:
    """Every file set aside under ``root``, whichever identity it was of, the first set aside first."""
    return sorted((path for shelf in Shelf.all(root) for path in held_by(shelf)), key=_since)


def held_by(shelf: Shelf) -> list[Path]:
    """Files of one identity that were set aside."""
    files = list(shelf.quarantine.iterdir()) if shelf.quarantine.is_dir() else []
    return [*files, *([shelf.aside] if shelf.aside.exists() else [])]


def discard(shelf: Shelf) -> int:
    """Delete what one identity set aside and return the bytes freed."""
    files = held_by(shelf)
    freed = sum(allocated(path) for path in files)
    for path in files:
        remove(path)
    with contextlib.suppress(OSError):
        shelf.quarantine.rmdir()
    return freed


def _since(path: Path) -> float:
    try:
        return path.lstat().st_ctime  # set by the move; the time of writing stays as it was
    except FileNotFoundError:
        return 0.0
