"""Writing an export: readable by its owner alone, since it holds a conversation.

Invariant: the file is there whole or not at all, and one that was there is replaced only when that was asked for.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from skippy_chat.errors import ExportFailed


def write_export(path: Path, text: str, *, replace: bool = False) -> None:
    """Write ``text`` to ``path`` as UTF-8, mode 0600.

    Raises:
        ExportFailed: it is there already and not to be replaced, or cannot be written.
    """
    if path.is_dir():
        raise ExportFailed(f"{path} is a folder.", "Name a file in it.")
    temporary: Path | None = None
    try:
        # Made with mode 0600, under a name nobody has; in the same folder, so that it can take the other's place.
        handle, name = tempfile.mkstemp(prefix=".skippy-export-", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            _place_new(temporary, path)
        _sync_folder(path.parent)
    except FileExistsError as error:
        raise ExportFailed(
            f"{path} is there already.", "Give --force to replace it, or another name with -o."
        ) from error
    except OSError as error:
        raise ExportFailed(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another place with -o."
        ) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _place_new(temporary: Path, path: Path) -> None:
    """Give the file its name, unless somebody else took it meanwhile."""
    try:
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # A file system without hard links: taking the name first leaves no moment in which another's is lost.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        temporary.replace(path)


def _sync_folder(folder: Path) -> None:
    # Some file systems cannot; the file itself is safe by then.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
