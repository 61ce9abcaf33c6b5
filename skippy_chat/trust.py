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
from skippy_chat.paths import Paths, make_private
from skippy_chat.personas import NamedFolder

PROJECT_FILE = ".skippy-chat.toml"
PROJECT_FOLDER = ".skippy-chat"  # personas and prompts of a workspace


def project_things(workspace: Path) -> list[Path]:
    """Return what a workspace brings along that counts only when it is trusted: settings, personas and prompts."""
    found = [workspace / PROJECT_FILE]
    for kind in ("personas", "prompts"):
        found += sorted((workspace / PROJECT_FOLDER / kind).glob("*.md"))
    return [each for each in found if each.is_file()]


def ignored_things(paths: Paths, workspace: Path) -> Path | None:
    """Return what of a workspace does not count since it is not trusted, for faces to mention; None when nothing is.

    Raises:
        ConfigError: the list of trusted workspaces cannot be read.
    """
    things = project_things(workspace)
    if not things or TrustedProjects(paths.trusted_projects).has(workspace):
        return None
    return things[0] if things[0].parent == workspace else workspace / PROJECT_FOLDER


def personas_of(paths: Paths, workspace: Path) -> list[NamedFolder]:
    """Return the folders to look for personas in: the person's own, and a trusted workspace's.

    Raises:
        ConfigError: the list of trusted workspaces cannot be read.
    """
    return _folders(paths, workspace, paths.personas_dir)


def prompts_of(paths: Paths, workspace: Path) -> list[NamedFolder]:
    """Return the folders to look for slash prompts in; as ``personas_of``."""
    return _folders(paths, workspace, paths.prompts_dir)


def _folders(paths: Paths, workspace: Path, own: Path) -> list[NamedFolder]:
    folders = [NamedFolder(own)]
    theirs = workspace / PROJECT_FOLDER / own.name
    if theirs.is_dir() and TrustedProjects(paths.trusted_projects).has(workspace):
        folders.append(NamedFolder(theirs, of_project=True))
    return folders


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
