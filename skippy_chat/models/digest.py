"""Digests of model files: what a file is, whatever it is called, and read whole only once.

Invariant: a digest that is handed out belongs to the bytes on disk now, as far as device, inode, size and both times
can tell; a cache that cannot be read or written costs only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blake3 import blake3

from skippy_chat.errors import ModelFileError

OnProgress = Callable[[str, int, int], None]

_CHUNK = 4 << 20
_KEPT = 256
_FILE = "model-digests.json"


@dataclass(frozen=True, slots=True)
class FileDigests:
    """Hex digests of a file: BLAKE3 for identities, SHA-256 because that is what others publish."""

    blake3: str
    sha256: str


def digest_file(path: Path, *, cache: Path, on_progress: OnProgress) -> FileDigests:
    """Return a file's digests, from ``cache`` (a folder) when the file has not changed since.

    Raises:
        ModelFileError: the file cannot be read.
    """
    try:
        info = path.stat()
        key = ":".join(
            str(part) for part in (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        )
        known = _read(cache)
        with contextlib.suppress(KeyError, TypeError):
            return FileDigests(**known[key])
        digests = _digest(path, info.st_size, on_progress)
    except OSError as error:
        raise ModelFileError(
            f"Cannot read {path}: {error.strerror or error}.", "Check its rights, and the disk."
        ) from error
    _write(cache, {**dict(list(known.items())[-_KEPT:]), key: asdict(digests)})
    return digests


def _digest(path: Path, size: int, on_progress: OnProgress) -> FileDigests:
    first, second = blake3(), hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            first.update(chunk)
            second.update(chunk)
            done += len(chunk)
            on_progress("reading the model file", done, size)
    return FileDigests(first.hexdigest(), second.hexdigest())


def _read(cache: Path) -> dict[str, Any]:
    try:
        known = json.loads((cache / _FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(cache: Path, known: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=cache, prefix=_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(known, file)
        Path(name).replace(cache / _FILE)
