"""Digests of model files, computed once per file and remembered.

A digest of many gigabytes takes seconds to minutes, so it is kept under the file's device, inode, size and both
times. Invariant: a remembered digest is used only while all five are unchanged, and a cache that cannot be read or
written costs time, never an answer. Files are read, not mapped: a file that shrinks under a mapping is a SIGBUS.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from blake3 import blake3

from skippy_chat.errors import ModelFileError
from skippy_chat.models.header import fault
from skippy_chat.models.writing import Progress

_BUFFER = 1 << 22
_MOST_FILES = 256
_BLAKE3 = "blake3"
_SHA256 = "sha256"

_Key = tuple[int, int, int, int, int]


class _Hash(Protocol):
    def update(self, data: memoryview, /) -> object: ...

    def hexdigest(self) -> str: ...


def _no_progress(what: str, done: int, total: int) -> None:
    """Report to nobody."""


class DigestCache:
    """Hex digests of files, remembered in the JSON file ``store``; None remembers for this process only."""

    def __init__(self, store: Path | None, *, progress: Progress = _no_progress) -> None:
        self._store = store
        self._progress = progress
        self._known: dict[str, dict[str, str]] | None = None

    def blake3(self, path: Path) -> str:
        """Return the BLAKE3 of the file's bytes; raises ModelFileError when it cannot be read."""
        return self._digest(path, _BLAKE3, lambda: blake3(max_threads=2))

    def sha256(self, path: Path) -> str:
        """Return the SHA-256 of the file's bytes; raises ModelFileError when it cannot be read."""
        return self._digest(path, _SHA256, hashlib.sha256)

    def remember_sha256(self, path: Path, digest: str) -> None:
        """Keep a digest that was computed while ``path`` was written."""
        with suppress(OSError):
            self._remember(_key(path.stat()), _SHA256, digest)

    def _digest(self, path: Path, algorithm: str, new: Callable[[], _Hash]) -> str:
        try:
            key = _key(path.stat())
            known = self._load().get(_text(key), {}).get(algorithm)
            if known is not None:
                return known
            digest = self._compute(path, new(), key[2])
            after = _key(path.stat())
        except OSError as error:
            raise fault(path, f"cannot be read ({error.strerror})") from error
        if after != key:
            raise ModelFileError(
                f"{path}: changed while it was read.", "Wait until it is complete, then try again."
            )
        self._remember(key, algorithm, digest)
        return digest

    def _compute(self, path: Path, state: _Hash, size: int) -> str:
        buffer = memoryview(bytearray(_BUFFER))
        done = 0
        with path.open("rb", buffering=0) as file:
            while done <= size and (count := file.readinto(buffer)):  # a growing file ends the loop, too
                state.update(buffer[:count])
                done += count
                self._progress(f"checking {path.name}", done, size)
        return state.hexdigest()

    def _remember(self, key: _Key, algorithm: str, digest: str) -> None:
        self._known = None  # another process may have added to it
        known = self._load()
        known[_text(key)] = {**known.pop(_text(key), {}), algorithm: digest}
        for oldest in list(known)[:-_MOST_FILES]:
            del known[oldest]
        if self._store is not None:
            with suppress(OSError):
                _write(self._store, json.dumps(known, indent=0))

    def _load(self) -> dict[str, dict[str, str]]:
        if self._known is None:
            self._known = {} if self._store is None else _read(self._store)
        return self._known


def _key(status: os.stat_result) -> _Key:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _text(key: _Key) -> str:
    return ":".join(map(str, key))


def _read(store: Path) -> dict[str, dict[str, str]]:
    """Return what ``store`` holds, leaving out all that is not as we write it."""
    try:
        data = json.loads(store.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict):
        return {}
    return {
        key: digests
        for key, digests in data.items()
        if isinstance(digests, dict) and all(isinstance(digest, str) for digest in digests.values())
    }


def _write(store: Path, text: str) -> None:
    """Replace ``store``; not synced, since losing it costs only time."""
    store.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{store.name}.", dir=store.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(store)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
