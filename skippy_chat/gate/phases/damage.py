"""Harm done to a store's files while no process has them open, as disks and people do it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

NOTHING_FITS = 4 << 10
"""Bytes that hold not even an empty index."""

_PAGE = 4096
_GARBAGE = b"not a database "

Harm = Callable[[bytearray], bytearray]
"""Takes a file's bytes and gives them back harmed."""


def harm_all(folder: Path, pattern: str, harm: Harm) -> int:
    """Harm every file of that name below ``folder``; return how many there were."""
    count = 0
    for path in sorted(folder.rglob(pattern)):
        path.chmod(0o600)
        path.write_bytes(harm(bytearray(path.read_bytes())))
        count += 1
    return count


def largest(folder: Path, pattern: str) -> int:
    """Return the size of the largest file of that name below ``folder``, in bytes; 0 when there is none."""
    return max((path.stat().st_size for path in folder.rglob(pattern)), default=0)


def forget(folder: Path) -> None:
    """Remove all checkpoint files, as a person may at any time."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()


def truncate(data: bytearray) -> bytearray:
    """Leave the first half."""
    return data[: len(data) // 2]


def flip_eighths(data: bytearray) -> bytearray:
    """Flip seven single bits, evenly spread."""
    for eighth in range(1, 8):
        data[len(data) * eighth // 8] ^= 0x10
    return data


def flip_pages(data: bytearray) -> bytearray:
    """Flip one bit in the middle of each page but the first, which says what the file is."""
    for at in range(_PAGE + _PAGE // 2, len(data), _PAGE):
        data[at] ^= 0x10
    return data


def overwrite_start(data: bytearray) -> bytearray:
    """Write garbage over the first page."""
    length = min(_PAGE, len(data))
    data[:length] = (_GARBAGE * (_PAGE // len(_GARBAGE) + 1))[:length]
    return data
