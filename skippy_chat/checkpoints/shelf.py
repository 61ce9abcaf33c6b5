"""Folders and files of one identity's store, and what they weigh.

    root/v3/writer.lock                        held by whoever changes any index or file below
           /writing                            there while the lock is held: one that is left tells of a death
    root/v3/<2 hex>/<identity>/identity.json   what the identity was made of
                              /model.json      the model's name and such, for people
                              /index.db        SQLite; index.damaged.db is one that was set aside
                              /unswept         somebody died while writing: strays may lie about
                              /segments/<2 hex>/<name>.seg
                              /tmp/            files being written
                              /quarantine/     damaged files, kept for a look

Invariant: files appear and vanish only under the writer lock, so whatever lies in ``tmp`` or is not in the index
while the lock is held is a stray, whatever its age; a segment file is never changed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from skippy_chat.checkpoints.types import Identity
from skippy_chat.errors import CheckpointError

FORMAT = "v3"
_NAME = re.compile(r"[0-9a-f]{64}")
_NAME_DIGITS = 64


def allocated(path: str | os.PathLike[str]) -> int:
    """Bytes a file or folder occupies on disk; 0 when it is gone."""
    try:
        found = os.lstat(path)  # as quickly as can be: it is asked of hundreds of folders in every commit
    except FileNotFoundError:
        return 0
    blocks = getattr(found, "st_blocks", None)  # absent on Windows
    return found.st_size if blocks is None else blocks * 512


def sync_folder(folder: Path) -> None:
    """Make a folder's entries durable, where the system can."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def private_folder(folder: Path, *, parents: bool = False) -> None:
    """Create a folder of mode 0700 if it is missing, and refuse one that others can write.

    Raises:
        CheckpointError: it cannot be made, is no folder, or is open to others.
    """
    try:
        if parents:
            folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.stat()
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint folder {folder} cannot be used: {error.strerror}.",
            "Choose another with --cache-dir; until then nothing is kept.",
        ) from error
    if not stat.S_ISDIR(found.st_mode):
        raise CheckpointError(
            f"the checkpoint folder {folder} is not a folder.",
            "Move that file away, or choose another --cache-dir.",
        )
    if os.name != "nt" and found.st_mode & 0o022:
        raise CheckpointError(
            f"the checkpoint folder {folder} can be written by others.", f"Run: chmod go-w '{folder}'"
        )


class ReadOnlyFolder(CheckpointError):
    """The folder of a store may be read but not written."""


class Shelf:
    """Paths of one identity under ``root``, and the few operations on its segment files."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.identity = home.name
        self.index = home / "index.db"
        self.suspect = home / "index.suspect"
        self.unswept = home / "unswept"
        self.log = home / "index.db-wal"
        self.shared = home / "index.db-shm"
        self.aside = home / "index.damaged.db"
        self.described = home / "identity.json"
        self.model = home / "model.json"
        self.segments = home / "segments"
        self.tmp = home / "tmp"
        self.quarantine = home / "quarantine"

    @property
    def root(self) -> Path:
        """The folder that holds the shelves of all identities."""
        return self.home.parents[2]

    @classmethod
    def of(cls, root: Path, identity: str) -> Shelf:
        """Return the shelf of an identity, which need not exist."""
        return cls(root / FORMAT / identity[:2] / identity)

    @classmethod
    def all(cls, root: Path) -> list[Shelf]:
        """Every shelf of this format under ``root``."""
        return [
            cls(home)
            for home in sorted((root / FORMAT).glob("??/*"))
            if _NAME.fullmatch(home.name) and home.is_dir()
        ]

    def prepare(self, root: Path, identity: Identity) -> None:
        """Create what is missing, each folder for its owner only."""
        private_folder(root, parents=True)
        for folder in (root / FORMAT, self.home.parent, self.home, self.segments, self.tmp):
            private_folder(folder)
        if not os.access(self.home, os.W_OK | os.X_OK):
            raise ReadOnlyFolder(
                f"the checkpoint folder {self.home} cannot be written.", "Choose another with --cache-dir."
            )
        if not self.described.exists():
            partial = self.tmp / f"identity.{os.getpid()}"
            try:
                partial.write_text(identity.parts_json(), encoding="utf-8")
                partial.replace(self.described)
            except OSError as error:
                raise CheckpointError(
                    f"the checkpoint folder {self.home} cannot be written: {error.strerror}.",
                    "Choose another with --cache-dir; until then nothing is kept.",
                ) from error

    def path(self, name: str) -> Path:
        """Path of a segment file."""
        return self.segments / name[:2] / f"{name}.seg"

    def write(self, name: str, pieces: Sequence[tuple[int, bytes | memoryview]]) -> Path:
        """Write a segment durably under its name: pieces are (offset, bytes) in order.

        Raises:
            OSError: it could not; no file is left, neither whole nor in part.
        """
        final = self.path(name)
        partial = self.tmp / f"{name}.part"
        try:
            _write_pieces(partial, pieces)
            fresh = not final.parent.exists()
            if fresh:
                final.parent.mkdir(mode=0o700)
            partial.replace(final)
            sync_folder(final.parent)
            if fresh:
                sync_folder(self.segments)
        except BaseException:
            remove(partial)
            remove(final)
            raise
        return final

    def strays(self, known: Callable[[str], AbstractSet[str]]) -> Iterator[Path]:
        """Yield files being written, and segments not ``known`` (asked for the names that begin with two digits).

        Only while the writer lock is held are they strays.
        """
        yield from self.unfinished()
        for shard in self.shards():
            yield from self.strays_in(shard, known(shard))

    def unfinished(self) -> Iterator[Path]:
        """Yield files being written; with the writer lock held they are strays."""
        yield from (Path(entry.path) for entry in _scan(self.tmp))

    def shards(self) -> list[str]:
        """Names of the folders of segment files: the first two digits of the files' names."""
        return sorted(entry.name for entry in _scan(self.segments) if entry.is_dir(follow_symlinks=False))

    def strays_in(self, shard: str, known: AbstractSet[str]) -> Iterator[Path]:
        """Yield segments of one folder that are not ``known``; with the writer lock held, as for ``strays``."""
        for entry in _scan(self.segments / shard):
            name, _, ending = entry.name.partition(".")
            if ending == "seg" and len(name) == _NAME_DIGITS and name not in known:
                yield Path(entry.path)

    def sweep(self, known: Callable[[str], AbstractSet[str]]) -> None:
        """Remove all strays; the writer lock must be held."""
        for path in self.strays(known):
            remove(path)
        remove(self.unswept)

    def overhead(self) -> int:
        """Bytes allocated by everything but the segment files: index, its log, notes, folders."""
        total = allocated(self.home.parent) + allocated(self.home)
        for folder in (self.home, self.segments, self.tmp, self.quarantine):
            total += sum(allocated(entry) for entry in _scan(folder))
        return total


def remove(path: Path) -> None:
    """Unlink a file; one that is gone or cannot go is left for the next sweep."""
    with contextlib.suppress(OSError):
        path.unlink()


def _scan(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _write_pieces(path: Path, pieces: Sequence[tuple[int, bytes | memoryview]]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    try:
        at = 0
        for offset, piece in pieces:
            _write_all(fd, b"\0" * (offset - at))
            _write_all(fd, memoryview(piece))
            at = offset + len(piece)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
