"""Where everything lives on disk: all locations are derived here, from three folders that a caller may replace.

Invariant: a folder made here is 0700, and one that others can write to is never used. Nothing is made before it is
needed, so a read-only cache does not stop somebody who only reads history.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skippy_chat.errors import ConfigError

APP = "skippy-chat"


@dataclass(frozen=True, slots=True)
class Paths:
    """The three folders of an installation and what is kept in them."""

    data_dir: Path
    cache_dir: Path
    config_dir: Path

    @classmethod
    def resolve(
        cls,
        *,
        data_dir: str | Path | None = None,
        cache_dir: str | Path | None = None,
        config_dir: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Paths:
        """Choose each folder: the argument, else ``SKIPPY_DATA_DIR`` and so on in ``env``, else the platform's own."""
        env = env or {}
        return cls(
            _chosen(data_dir or env.get("SKIPPY_DATA_DIR"), "data"),
            _chosen(cache_dir or env.get("SKIPPY_CACHE_DIR"), "cache"),
            _chosen(config_dir or env.get("SKIPPY_CONFIG_DIR"), "config"),
        )

    @property
    def history_db(self) -> Path:
        """Sessions, messages and ledgers."""
        return self.data_dir / "history.db"

    @property
    def locks_dir(self) -> Path:
        """One lock file per session."""
        return self.data_dir / "locks"

    @property
    def logs_dir(self) -> Path:
        """Logs of worker processes."""
        return self.data_dir / "logs"

    @property
    def undo_dir(self) -> Path:
        """What files held before an agent wrote them; one folder per turn."""
        return self.data_dir / "undo"

    @property
    def trusted_projects(self) -> Path:
        """The workspaces whose project file counts, which need not exist."""
        return self.data_dir / "trusted.json"

    @property
    def tool_output_dir(self) -> Path:
        """Output of tools that was too long for the model; one folder per session."""
        return self.cache_dir / "tool-output"

    @property
    def checkpoints_dir(self) -> Path:
        """The checkpoint tree; may be deleted at any time."""
        return self.cache_dir / "checkpoints"

    @property
    def proofs_dir(self) -> Path:
        """Which models' state was found to come back exactly; one small file each."""
        return self.cache_dir / "proofs"

    @property
    def models_dir(self) -> Path:
        """Model files that were fetched or made."""
        return self.cache_dir / "models"

    @property
    def builds_dir(self) -> Path:
        """Built native libraries."""
        return self.cache_dir / "builds"

    @property
    def user_config(self) -> Path:
        """The user's config file, which need not exist."""
        return self.config_dir / "config.toml"

    @property
    def personas_dir(self) -> Path:
        """The user's personas, which need not exist."""
        return self.config_dir / "personas"

    @property
    def prompts_dir(self) -> Path:
        """The user's own slash prompts, which need not exist."""
        return self.config_dir / "prompts"

    @property
    def approvals_file(self) -> Path:
        """The user's own rules of approval, which need not exist."""
        return self.config_dir / "approvals.toml"


def workspace_root(folder: Path) -> Path:
    """Return the real path of the git root that ``folder`` lies in, else of the folder itself."""
    here = folder.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def make_private(folder: Path) -> Path:
    """Make ``folder`` if it is missing (0700, and so its missing parents) and return it.

    Raises:
        ConfigError: it cannot be made, is no folder, or others can write to it.
    """
    try:
        _make(folder)
        info = folder.stat()
    except FileExistsError as error:
        raise ConfigError(
            f"{error.filename} is not a folder.", "Move it away, or choose another place."
        ) from error
    except NotADirectoryError as error:
        raise ConfigError(f"{folder} lies below a file.", "Choose another place.") from error
    except OSError as error:
        raise ConfigError(
            f"Cannot make the folder {folder}: {error.strerror or error}.",
            "Make it yourself, or choose another place with --data-dir or --cache-dir.",
        ) from error
    _refuse_foreign(folder, info)
    return folder


def refuse_writable(*paths: Path) -> None:
    """Refuse files and folders that everybody can write to, for what is in them decides what may run.

    Those that are missing are fine.

    Raises:
        ConfigError: one can be written by others.
    """
    for path in paths if os.name == "posix" else ():
        try:
            mode = path.stat().st_mode
        except OSError:  # missing; what else is wrong with it is told by whoever reads it
            continue
        if mode & stat.S_IWOTH:
            raise ConfigError(
                f"Others can write to {path} (mode {stat.S_IMODE(mode):04o}), which says what may run.",
                f"Read it, then run: chmod o-w '{path}'",
            )


def _make(folder: Path) -> None:
    missing = []
    current = folder
    while not current.exists():
        missing.append(current)
        current = current.parent
    for each in reversed(missing):
        # Another process may make it at the same moment; that is no fault.
        each.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise FileExistsError(None, "not a folder", str(folder))


def _refuse_foreign(folder: Path, info: os.stat_result) -> None:
    if os.name != "posix":
        return
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(
            f"Others can write to {folder} (mode {stat.S_IMODE(info.st_mode):04o}).",
            f"Run: chmod go-w '{folder}'",
        )
    if os.getuid() not in (0, info.st_uid):
        raise ConfigError(f"{folder} belongs to another user.", "Choose a folder of your own.")


def _chosen(given: str | Path | None, kind: Literal["data", "cache", "config"]) -> Path:
    return Path(given or _platforms_own(kind)).expanduser().absolute()


def _platforms_own(kind: Literal["data", "cache", "config"]) -> str:
    import platformdirs  # noqa: PLC0415 - not to be waited for when the folders are named

    own = platformdirs.PlatformDirs(APP, appauthor=False)
    return {"data": own.user_data_dir, "cache": own.user_cache_dir, "config": own.user_config_dir}[kind]


def as_told(folder: Path, env: Mapping[str, str]) -> str:
    """Return a folder as people write it, with ~ for their home; only to be read, never to be opened."""
    home = env.get("HOME", "")
    if home and Path(home).is_absolute() and folder.is_relative_to(home) and Path(home) != Path(home).parent:
        return str(Path("~") / folder.relative_to(home))
    return str(folder)
