"""Stores of other versions under the same root: seen and weighed, never read, removed only when that is asked for.

Invariant: a version's folder belongs to programs of that version. Its bytes are shown apart and do not count against
the budget of ours, for whoever made it bounds it by a budget of its own.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import filelock

from skippy_chat.checkpoints.shelf import FORMAT, allocated

_VERSION = re.compile(r"v(\d{1,9})")


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """A folder like ``v1`` that is not ours, and the bytes it occupies."""

    name: str
    allocated_bytes: int
    newer: bool


def other_versions(root: Path) -> list[OtherVersion]:
    """Stores of older and newer versions, the oldest first."""
    found = [path for path in (root.iterdir() if root.is_dir() else ()) if _number(path.name) is not None]
    return [
        OtherVersion(path.name, weigh(path), newer=(_number(path.name) or 0) > (_number(FORMAT) or 0))
        for path in sorted(found, key=lambda path: _number(path.name) or 0)
        if path.name != FORMAT and path.is_dir() and not path.is_symlink()
    ]


def remove_version(root: Path, version: OtherVersion) -> int:
    """Delete the store of another version and return the bytes freed; 0 while a program of that version writes it.

    Raises:
        OSError: part of it cannot be removed.
    """
    folder = root / version.name
    lock = filelock.FileLock(folder / "writer.lock", mode=0o600)
    try:
        with lock.acquire(timeout=0):
            shutil.rmtree(folder)
    except filelock.Timeout:
        return 0
    return version.allocated_bytes


def weigh(folder: Path) -> int:
    """Bytes occupied by a folder and all below it."""
    total = allocated(folder)
    for parent, folders, files in os.walk(folder):
        total += sum(allocated(f"{parent}{os.sep}{name}") for name in (*folders, *files))
    return total


def _number(name: str) -> int | None:
    match = _VERSION.fullmatch(name)
    return None if match is None else int(match[1])
