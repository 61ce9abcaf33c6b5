"""Before-images of the files an agent wrote, so that a turn can be undone.

An entry is durable before its file is changed, and names what the file becomes: after a crash in between, the file is
either as before or as written, and undo knows both. A file that is neither was changed by somebody else.

Invariant: undo never overwrites a change it did not make; it puts back all files of a turn, or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.agent.tools.atomic import read_whole, remove_file, replace_file
from skippy_chat.agent.tools.gate import OpenParent, PathGate
from skippy_chat.errors import PathRefused, ToolError, UndoRefused

_UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Change:
    """One file as a turn found it and left it; digests are None where there was no file."""

    path: str
    before: str | None
    after: str
    mode: int | None
    made: tuple[str, ...]
    image: Path


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did: files put back, files removed (each as a path from the workspace root)."""

    restored: tuple[str, ...]
    removed: tuple[str, ...]


class TurnJournal:
    """The entries of one turn, in a folder of their own that is made with the first."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is the turn's own."""
        self.folder = folder

    def record(self, parent: OpenParent, before: bytes | None, after: bytes, *, root: Path) -> None:
        """Keep what ``parent``'s file holds now, before it becomes ``after``.

        Raises:
            ToolError: it cannot be kept; then the file must not be written.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = len(list(self.folder.glob("*.json")))
            image = self.folder / f"{number:06}.before"
            if before is not None:
                _write_durably(image, before)
            entry = {
                "root": str(root),
                "path": parent.place.relative,
                "before": digest(before) if before is not None else None,
                "after": digest(after),
                "mode": stat.S_IMODE(parent.info.st_mode) if parent.info is not None else None,
                "made": list(parent.made),
            }
            _write_durably(self.folder / f"{number:06}.json", json.dumps(entry).encode())
        except OSError as error:
            raise ToolError(
                f"The file was not written: its old content cannot be kept for undo ({error.strerror})."
            ) from error

    def changes(self, root: Path) -> list[Change]:
        """Return this turn's changes in the workspace ``root``, oldest first.

        Raises:
            UndoRefused: an entry is damaged.
        """
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                entry: dict[str, Any] = json.loads(path.read_bytes())
                if entry["root"] != str(root):
                    continue
                change = Change(
                    entry["path"],
                    entry["before"],
                    entry["after"],
                    entry["mode"],
                    tuple(entry["made"]),
                    path.with_suffix(".before"),
                )
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise UndoRefused(f"The undo entry {path} is damaged.") from error
            found.append(change)
        return found


class Journal:
    """All turns that can be undone, one folder each; ``folder`` lies in the data directory."""

    def __init__(self, folder: Path) -> None:
        """Nothing is made before there is something to keep."""
        self.folder = folder

    def turn(self, turn: str) -> TurnJournal:
        """Return the journal of a turn, by its id.

        Raises:
            ValueError: an id that is no plain name.
        """
        if not turn or not turn.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"not the id of a turn: {turn!r}")
        return TurnJournal(self.folder / turn)

    def stands(self, turn: str, gate: PathGate) -> bool:
        """Tell whether a turn wrote files in this workspace that were not put back yet.

        Raises:
            UndoRefused: an entry is damaged.
        """
        return not self.is_undone(turn) and bool(self.turn(turn).changes(gate.root))

    def is_undone(self, turn: str) -> bool:
        """Tell whether a turn's files were put back."""
        return (self.turn(turn).folder / _UNDONE).exists()

    def undo(self, turn: str, gate: PathGate) -> Undone:
        """Put back every file that a turn wrote, as it was before the turn.

        Raises:
            UndoRefused: nothing to undo, undone already, or files that were changed since; then nothing is touched.
        """
        journal = self.turn(turn)
        if self.is_undone(turn):
            raise UndoRefused("That turn is undone already.")
        changes = journal.changes(gate.root)
        if not changes:
            raise UndoRefused("That turn wrote no files.")
        first: dict[str, Change] = {}
        last: dict[str, Change] = {}
        for change in changes:
            first.setdefault(change.path, change)
            last[change.path] = change
        images = {path: _image(change) for path, change in first.items()}
        changed = tuple(path for path in sorted(first) if not _is_ours(gate, path, first[path], last[path]))
        if changed:
            raise UndoRefused(
                f"Nothing was undone: changed since the agent wrote them: {', '.join(changed)}.",
                "Put them back by hand, or keep them.",
                changed,
            )
        restored: list[str] = []
        removed: list[str] = []
        for path, change in sorted(first.items()):
            image = images[path]
            (removed if image is None else restored).append(path)
            _put_back(gate, path, image, change.mode)
        _remove_empty(gate, [folder for change in reversed(changes) for folder in reversed(change.made)])
        _write_durably(journal.folder / _UNDONE, b"")
        return Undone(tuple(restored), tuple(removed))

    def prune(self, most_bytes: int) -> int:
        """Remove the oldest turns (by their ids, which sort by time) above ``most_bytes``; returns how many."""
        turns = sorted((each for each in self.folder.glob("*") if each.is_dir()), reverse=True)
        total = removed = 0
        for folder in turns:
            total += sum(each.stat().st_size for each in folder.iterdir())
            if total > most_bytes:
                shutil.rmtree(folder)
                removed += 1
        return removed


def digest(data: bytes) -> str:
    """Return the name of a content."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def _image(change: Change) -> bytes | None:
    if change.before is None:
        return None
    try:
        data = change.image.read_bytes()
    except OSError as error:
        raise UndoRefused(f"The old content of {change.path} is lost: {error.strerror}.") from error
    if digest(data) != change.before:
        raise UndoRefused(f"The old content of {change.path} is damaged.")
    return data


def _is_ours(gate: PathGate, path: str, first: Change, last: Change) -> bool:
    """Tell whether a file is as the turn left it, or (after a crash) as the turn found it."""
    try:
        with gate.open_parent(path) as parent:
            now = None if parent.info is None else digest(read_whole(parent))
    except PathRefused:
        return False
    # A crash between an entry and its write leaves the state before that entry.
    return now in {last.after, last.before, first.before}


def _put_back(gate: PathGate, path: str, image: bytes | None, mode: int | None) -> None:
    with gate.open_parent(path) as parent:
        if image is not None:
            replace_file(parent, image, mode=mode)
        elif parent.info is not None:
            remove_file(parent)


def _remove_empty(gate: PathGate, folders: list[str]) -> None:
    for folder in folders:
        above, _, name = folder.rpartition("/")
        with contextlib.suppress(OSError, PathRefused), gate.open_folder(above or ".") as parent:
            os.rmdir(name, dir_fd=parent.fd)


def _write_durably(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
