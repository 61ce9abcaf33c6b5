"""What the person wants of the app, and where that is kept: theme, keys, settings, and the models to choose from.

Invariant: what is written was checked first, as the command line does it, and the file's comments stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.config import Settings
from skippy_chat.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model to choose: its name for ``model``, its file, and what that says; ``fault`` where it cannot be used.

    ``kind`` is what native code said when it was loaded here last; empty where it never was.
    ``size`` is bytes, 0 for one that is made when it is first wanted; ``trained`` is tokens, None where it is not said.
    """

    name: str
    path: Path | None = None
    architecture: str = ""
    quantisation: str = ""
    size: int = 0
    trained: int | None = None
    kind: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Preferences:
    """How the app looks and listens, and how that is changed.

    ``settings`` gives those in force for a new session, or over what a session keeps. ``file`` is the person's own
    config file; without one nothing can be kept. ``models`` reads the headers of the files that are here, and
    ``model_at`` that of the file at a path that was typed, None where there is none. ``prepare`` makes what was typed
    here for a key what the file should say.
    """

    theme: str = "dark"
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    file: Path | None = None
    settings: Callable[[Mapping[str, object]], Settings] = lambda _session: Settings()
    models: Callable[[], Sequence[ModelRow]] = lambda: ()
    model_at: Callable[[str], ModelRow | None] = lambda _path: None
    prepare: Callable[[str, object], object] = lambda _key, value: value

    def keep(self, key: str, value: object) -> object:
        """Write a setting into the person's file; return it as it is written. It waits for the disk.

        Raises:
            ConfigError: it does not fit, or cannot be written.
        """
        from skippy_chat.config_writing import set_key  # noqa: PLC0415 - writing TOML takes a library of its own

        return set_key(self._file(), key, self.prepare(key, value))

    def drop(self, key: str) -> bool:
        """Take a setting out of the person's file; tells whether it was there.

        Raises:
            ConfigError: the file cannot be read or written.
        """
        from skippy_chat.config_writing import unset_key  # noqa: PLC0415

        return unset_key(self._file(), key)

    def _file(self) -> Path:
        if self.file is None:
            raise ConfigError("There is no config file to keep it in.", "Start with: skippy-chat")
        return self.file
