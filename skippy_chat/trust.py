"""A workspace's own settings, ``.skippy-chat.toml``, and which workspaces' files a person trusts.

Invariant: a file that came with a folder counts only after the person said so on this machine; what was said is kept in
their own data, by the folder's real path, where no workspace can write.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from skippy_chat.errors import ConfigError
from skippy_chat.paths import make_private

PROJECT_FILE = ".skippy-chat.toml"


class TrustedProjects:
    """The list of trusted workspaces, a JSON file."""

    def __init__(self, file: Path) -> None:
        """``file`` need not exist; it is made with the first trusted workspace."""
        self._file = file

    def has(self, workspace: Path) -> bool:
        """Tell whether this workspace's file counts.

        Raises:
            ConfigError: the list cannot be read.
        """
        return str(workspace.resolve()) in self._read()

    def add(self, workspace: Path) -> bool:
        """Trust a workspace; tells whether it was not trusted before.

        Raises:
            ConfigError: the list cannot be read or written.
        """
        return self._change(workspace, trusted=True)

    def remove(self, workspace: Path) -> bool:
        """Trust a workspace no longer; tells whether it was trusted before.

        Raises:
            ConfigError: the list cannot be read or written.
        """
        return self._change(workspace, trusted=False)

    def _change(self, workspace: Path, *, trusted: bool) -> bool:
        known, real = self._read(), str(workspace.resolve())
        if (real in known) == trusted:
            return False
        (known.add if trusted else known.remove)(real)
        make_private(self._file.parent)
        temporary = self._file.with_name(f".{self._file.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps({"schema": 1, "workspaces": sorted(known)}, indent=1), "utf-8")
            temporary.replace(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise ConfigError(
                f"{self._file} cannot be written: {error.strerror}.", "Mend its rights."
            ) from error
        return True

    def _read(self) -> set[str]:
        try:
            known = json.loads(self._file.read_text("utf-8"))["workspaces"]
            if not isinstance(known, list) or not all(isinstance(each, str) for each in known):
                raise TypeError
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise ConfigError(
                f"{self._file} cannot be read: {error.strerror}.", "Mend its rights."
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{self._file} is damaged.",
                "Remove it, and trust your workspaces again: skippy-chat config trust",
            ) from error
        return set(known)
