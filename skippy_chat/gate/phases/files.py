"""A copy of a model whose weights may be changed: shared with the original on disk where the file system can."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path

from skippy_chat.models.header import read_header
from skippy_chat.models.inspect import inspect_model
from skippy_chat.text.sizes import format_size

_FICLONE = 0x40049409
"""Linux: let one file share another's blocks until one of them is written."""
_SPARE = 1 << 30


def no_room_for_copy(model: Path, folder: Path) -> str:
    """Return why there is no room for a copy; empty when there is."""
    needed = inspect_model(model).size
    free = shutil.disk_usage(folder).free
    if free >= needed + _SPARE:
        return ""
    return f"a copy of the model needs {format_size(needed)}, {format_size(free)} are free"


def copy_model(model: Path, folder: Path) -> Path:
    """Copy a model, all its parts, into ``folder``; return the copy of the file that was named."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in inspect_model(model).parts:
        _copy(part, folder / part.name)
    return folder / model.name


def change_tensor_byte(model: Path) -> None:
    """Flip the lowest bit of one weight in the middle of the largest tensor; doing it again undoes it."""
    header = read_header(model)
    largest = max(header.tensors, key=lambda tensor: tensor.n_bytes)
    # Of a float in full the first byte holds the least; no step of four leaves that.
    at = largest.start + largest.n_bytes // 8 * 4
    with model.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def remove_copy(model: Path) -> None:
    """Remove the folder of a copy."""
    shutil.rmtree(model.parent, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - only where it is

        with contextlib.suppress(OSError), source.open("rb") as old, target.open("wb") as new:
            fcntl.ioctl(new, _FICLONE, old.fileno())
            return
    shutil.copyfile(source, target)
