"""Files of a workspace to offer while an ``@path`` is typed.

Two ways to find them: what lies in the folder that is typed so far, and an index over all folders, for a name that is
remembered without its place.

Invariant: looking is bounded in files and folders, follows no link, and enters no folder that searching skips; a folder
that is named goes through the tools' gate.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import final

from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.search import SKIPPED
from skippy_chat.completions.mentions import can_be_written
from skippy_chat.errors import PathRefused

_MOST_FILES = 20_000
_MOST_FOLDERS = 4_000
_FEW = 10
_SKIPPED = frozenset(SKIPPED)


@final
class WorkspaceFiles:
    """The files below ``root``; safe to use from several threads. It may wait for the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index: list[tuple[str, str]] | None = None  # folded, as it is
        self._lock = threading.Lock()

    def offered(self, typed: str, limit: int = 50) -> list[str]:
        """Return paths from the root that fit what is typed so far, best first; a folder's ends in a slash.

        An empty text looks at the disk anew, so that files that came since are found.
        """
        folder, slash, rest = typed.rpartition("/")
        near = [
            f"{folder}{slash}{name}"
            for name in self._in_folder(folder or ".")
            if name.casefold().startswith(rest.casefold()) and (rest or not name.startswith("."))
        ]
        if not typed:
            self._walk_again()
            return near[:limit]
        return list(dict.fromkeys([*near, *_fitting(typed.casefold(), self._all())]))[:limit]

    def _in_folder(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted, folders first."""
        try:
            with PathGate(self._root).open_folder(folder) as opened, os.scandir(opened.fd) as entries:
                found = [
                    (not entry.is_dir(), f"{entry.name}/" if entry.is_dir() else entry.name)
                    for entry in entries
                    if can_be_written(entry.name)
                ]
        except (PathRefused, OSError):
            return []
        return [name for _, name in sorted(found)]

    def _walk_again(self) -> None:
        with self._lock:
            self._index = None

    def _all(self) -> list[tuple[str, str]]:
        with self._lock:
            if self._index is None:
                self._index = [(path.casefold(), path) for path in _walk(self._root)]
            return self._index


def _walk(root: Path) -> Iterator[str]:
    """Yield files from the root, the nearest first: where there are too many, the deepest are left out."""
    folders, seen, found = deque([""]), 0, 0
    while folders and seen < _MOST_FOLDERS and found < _MOST_FILES:
        folder = folders.popleft()
        seen += 1
        try:
            with os.scandir(root / folder) as entries:
                for entry in sorted(entries, key=lambda each: each.name):
                    if not can_be_written(entry.name):
                        continue
                    path = f"{folder}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            folders.append(f"{path}/")
                    elif entry.is_file(follow_symlinks=False):
                        found += 1
                        yield path
        except OSError:  # gone, or not to be read: nothing to offer from there
            continue


def _fitting(wanted: str, index: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the paths that fit, best first; where few do, also those that have the letters in this order."""
    found = sorted((_rank(wanted, whole), len(path), path) for whole, path in index if wanted in whole)
    yield from (path for _, _, path in found)
    if len(found) < _FEW and len(wanted) > 2:
        first, *rest = map(re.escape, wanted)
        # Each letter where it comes first, so that a path is read once.
        loose = re.compile(first + "".join(f"[^{each}]*{each}" for each in rest))
        others = (path for whole, path in index if loose.search(whole))
        yield from sorted(others, key=lambda each: (len(each), each))


def _rank(wanted: str, whole: str) -> int:
    """Return how well a path fits that has the wanted text somewhere, 0 best."""
    name = whole.rpartition("/")[2]
    if name.startswith(wanted):
        return 0
    if whole.startswith(wanted) or f"/{wanted}" in whole:
        return 1
    return 2 if wanted in name else 3
