"""Reading and replacing a file inside a folder that the gate opened: everything relative to that descriptor.

Invariant: a file is there in its old form or its new one, never half; what was not there is not overwritten.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat

from skippy_chat.agent.tools.gate import OpenParent
from skippy_chat.errors import PathRefused, ToolError

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_whole(parent: OpenParent, most_bytes: int | None = None) -> bytes:
    """Read the file that ``parent`` leads to.

    Raises:
        PathRefused: it is no longer the plain file that was checked.
        ToolError: it is larger than ``most_bytes``.
    """
    assert parent.info is not None
    try:
        fd = os.open(parent.name, _READ, dir_fd=parent.fd)
    except OSError as error:
        raise PathRefused(f"{parent.place.relative} cannot be opened: {error.strerror}.") from error
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if (info.st_dev, info.st_ino) != (parent.info.st_dev, parent.info.st_ino):
            raise PathRefused(f"{parent.place.relative} was exchanged while it was opened.", "Try again.")
        data = file.read() if most_bytes is None else file.read(most_bytes + 1)
    if most_bytes is not None and len(data) > most_bytes:
        raise ToolError(f"{parent.place.relative} is larger than {most_bytes:,} bytes.")
    return data


def replace_file(parent: OpenParent, data: bytes, *, mode: int | None = None) -> None:
    """Write ``data`` as the file that ``parent`` leads to; its mode stays, a new file gets ``mode`` or the usual one.

    Raises:
        ToolError: it cannot be written, or appeared in between where there was none.
    """
    name = parent.place.relative
    try:
        temporary, fd = _create(parent)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                if parent.info is not None:
                    os.fchmod(fd, stat.S_IMODE(parent.info.st_mode))
                elif mode is not None:
                    os.fchmod(fd, mode)
                os.fsync(fd)
            if parent.info is None:
                _place_new(parent, temporary)
            else:
                os.rename(temporary, parent.name, src_dir_fd=parent.fd, dst_dir_fd=parent.fd)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent.fd)
        os.fsync(parent.fd)
    except FileExistsError as error:
        raise ToolError(
            f"{name} appeared while it was written, and was left alone.", "Read it first."
        ) from error
    except OSError as error:
        raise ToolError(f"{name} cannot be written: {error.strerror}.") from error


def remove_file(parent: OpenParent) -> None:
    """Remove the file that ``parent`` leads to."""
    try:
        os.unlink(parent.name, dir_fd=parent.fd)
    except OSError as error:
        raise ToolError(f"{parent.place.relative} cannot be removed: {error.strerror}.") from error


def _create(parent: OpenParent) -> tuple[str, int]:
    """Make a file beside the one to write, under a name that was free."""
    for number in itertools.count():
        # Short, since the name itself may be as long as names can be.
        name = f".skippy-{os.getpid()}-{number}.tmp"
        with contextlib.suppress(FileExistsError):
            return name, os.open(name, _NEW, 0o666, dir_fd=parent.fd)
    raise AssertionError("counting has no end")


def _place_new(parent: OpenParent, temporary: str) -> None:
    """Give a new file its name, unless somebody else took it meanwhile."""
    try:
        os.link(temporary, parent.name, src_dir_fd=parent.fd, dst_dir_fd=parent.fd, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.rename(temporary, parent.name, src_dir_fd=parent.fd, dst_dir_fd=parent.fd)
