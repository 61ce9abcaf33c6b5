"""Where a named model lies, without fetching or making it: for commands that only look."""

from __future__ import annotations

from pathlib import Path

from skippy_chat.cli.exits import closest
from skippy_chat.errors import ModelFileError
from skippy_chat.models.default import DEFAULT_FILE, model_folder
from skippy_chat.models.fetch import BASE_FILE
from skippy_chat.models.resolve import BASE_ALIAS, DEFAULT_ALIAS, model_names
from skippy_chat.paths import Paths

_BUILT_IN = {DEFAULT_ALIAS: DEFAULT_FILE, BASE_ALIAS: BASE_FILE}


def models_here(paths: Paths) -> dict[str, Path]:
    """Return the model files on this machine by the name --model takes; of split ones only the first part."""
    short = {file: name for name, file in _BUILT_IN.items()}
    found = model_names(cache_dir=paths.cache_dir, models_dir=paths.models_dir)
    return {
        short.get(path.name, name): path
        for name, path in found.items()
        if "-of-" not in name or "-00001-of-" in name
    }


def locate(model: str | None, paths: Paths) -> Path | None:
    """Return the file a name or path means; None for a built-in model that is not made yet.

    Raises:
        ModelFileError: no model has that name.
    """
    name = DEFAULT_ALIAS if model is None else model
    if name in _BUILT_IN:
        made = model_folder(paths.cache_dir) / _BUILT_IN[name]
        return made if made.exists() else None
    path = Path(name).expanduser()
    if path.exists():
        return path
    known = model_names(cache_dir=paths.cache_dir, models_dir=paths.models_dir)
    short = name.removesuffix(".gguf")
    if short in known:  # the names that --model takes, those of the built-in models' files included
        return known[short]
    if len(path.parts) > 1 or path.suffix == ".gguf":
        return path  # looking at it will say that it is missing, and where
    hint = closest(name, [*_BUILT_IN, *models_here(paths)]) or "See: skippy-chat models list"
    raise ModelFileError(f"There is no model named {name}.", hint)
