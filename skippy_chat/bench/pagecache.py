"""How much of a file lies in the page cache: a figure with a file behind it means nothing without that.

Asked of ``mincore`` on a mapping that is not touched, so that looking changes nothing.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from skippy_chat.bench.figures import Residency

_PROT_READ = 1
_MAP_SHARED = 1


def residency(what: str, before: str, files: Iterable[Path]) -> Residency:
    """Return how much of ``files`` is resident, in bytes; files that are gone count nothing."""
    size, resident, told = 0, 0, True
    for path in files:
        try:
            length = path.stat().st_size
        except FileNotFoundError:
            continue
        size += length
        found = resident_bytes(path)
        told = told and found is not None
        resident += found or 0
    return Residency(what, before, size, resident if told else None)


def resident_bytes(path: Path) -> int | None:
    """Return how many bytes of a file are in the page cache; None where the system does not tell."""
    if sys.platform not in ("linux", "darwin"):
        return None
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        return 0 if size == 0 else _resident(fd, size)
    finally:
        os.close(fd)


def _resident(fd: int, size: int) -> int | None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    # Not Python's own mmap: the address of a read-only one cannot be had.
    start = libc.mmap(None, size, _PROT_READ, _MAP_SHARED, fd, 0)
    if start is None or start == ctypes.c_void_p(-1).value:
        return None
    try:
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        if libc.mincore(start, size, ctypes.byref(pages)) != 0:
            return None
        return min(size, sum(page & 1 for page in pages) * mmap.PAGESIZE)
    finally:
        libc.munmap(start, size)
