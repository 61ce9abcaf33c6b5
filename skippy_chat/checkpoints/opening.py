"""Opening an index: created when missing, set aside when damaged, its strays swept.

Invariant: an index that is opened is ours, of this version and this identity; one that is not is kept under another
name, never read and never written, and the tree begins anew.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TypeVar

from skippy_chat.checkpoints.index import Access, Index
from skippy_chat.checkpoints.quarantine import Quarantine
from skippy_chat.checkpoints.shelf import Shelf, remove
from skippy_chat.checkpoints.types import Identity
from skippy_chat.checkpoints.writer import WriterLock
from skippy_chat.errors import CheckpointError, RecordingStopped

AnyIndex = TypeVar("AnyIndex", bound=Index)


def open_index(
    shelf: Shelf, lock: WriterLock, identity: Identity, quarantine: Quarantine
) -> tuple[Index, Index, str | None]:
    """Open connections for writing and for reading; also what a person should know about how it went.

    Raises:
        CheckpointError: it can be neither opened nor begun anew.
    """
    try:
        index, notice = _open(shelf, lock, identity, quarantine)
        return index, Index(shelf.index), notice
    except (sqlite3.Error, OSError) as error:
        raise CheckpointError(
            f"the checkpoint index {shelf.index} cannot be opened: {error}.",
            "Check the cache folder's permissions and free space, or choose another with --cache-dir.",
        ) from error


def open_to_read(shelf: Shelf) -> Index:
    """Open an index in a folder that cannot be written.

    Raises:
        CheckpointError: it cannot be read like that, or is not ours.
    """
    try:
        return look(shelf, Index)
    except (sqlite3.Error, OSError) as error:
        raise CheckpointError(
            f"the checkpoint folder {shelf.home} cannot be written, and its index not be read: {error}.",
            "Choose another with --cache-dir.",
        ) from error


def look(shelf: Shelf, kind: type[AnyIndex]) -> AnyIndex:
    """Open an index that is there, whether or not its folder can be written.

    Raises:
        FileNotFoundError: there is none.
        sqlite3.Error: it cannot be read, or is not ours.
    """
    if not shelf.index.exists():
        raise FileNotFoundError("there is no index")
    access: Access = "rwc"
    if not os.access(shelf.home, os.W_OK | os.X_OK):
        # SQLite reads beside a log only with its files in place; where there is no log, nobody is writing.
        access = "ro" if shelf.log.exists() and shelf.log.stat().st_size > 0 else "frozen"
    index = kind(shelf.index, access=access)
    try:
        index.check(Identity(shelf.identity).root_key)
    except BaseException:
        index.close()
        raise
    return index


def _open(
    shelf: Shelf, lock: WriterLock, identity: Identity, quarantine: Quarantine
) -> tuple[Index, str | None]:
    index = None if shelf.suspect.exists() else _sound(shelf, identity)
    if index is not None:
        with contextlib.suppress(RecordingStopped), lock.hold(0.0):  # else whoever opens it next sweeps
            if shelf.unswept.exists():
                shelf.sweep(index.names_in)
        return index, None
    with lock.hold():
        index, notice = _begin(shelf, identity, quarantine)
        shelf.sweep(index.names_in)
    return index, notice


def _begin(shelf: Shelf, identity: Identity, quarantine: Quarantine) -> tuple[Index, str | None]:
    """Create the index, with the lock held: another process may have done so meanwhile."""
    notice = None
    suspect = shelf.suspect.exists()
    if shelf.index.exists():
        index = None if suspect else _sound(shelf, identity)
        if index is not None:
            return index, None
        if suspect or not _unfinished(shelf):
            notice = _put_aside(shelf, quarantine)
    remove(shelf.suspect)
    index = Index(shelf.index)
    index.create(identity.root_key)
    return index, notice


def _sound(shelf: Shelf, identity: Identity) -> Index | None:
    """Open the index if it is there and ours."""
    if not shelf.index.exists():
        return None
    index = None
    try:
        index = Index(shelf.index)
        index.check(identity.root_key)
        return index
    except sqlite3.OperationalError as error:
        if index is not None:
            index.close()
        if "no such" not in str(error):  # busy or unreadable is not damaged
            raise
        return None
    except sqlite3.DatabaseError:
        pass
    if index is not None:
        index.close()
    return None


def _unfinished(shelf: Shelf) -> bool:
    """Whether the file is an index whose creation was cut short: a database without any table."""
    try:
        with contextlib.closing(Index(shelf.index)) as index:
            return index.is_empty()
    except sqlite3.Error:
        return False


def _put_aside(shelf: Shelf, quarantine: Quarantine) -> str:
    shelf.index.replace(shelf.aside)
    remove(shelf.log)
    remove(shelf.shared)
    kept = f"it is kept as {shelf.aside.name}" if quarantine.take_index(shelf) else "it was deleted"
    return f"The checkpoint index was damaged; {kept} and the tree begins anew."
