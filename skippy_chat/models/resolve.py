"""Finds the model that a person means by a name: a built-in one, a file by path, or a file by its short name.

Invariant: a name is never a guess. What matches nothing is an error that lists the nearest names.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from skippy_chat.errors import ModelFileError
from skippy_chat.models.default import base_model, default_model, model_folder
from skippy_chat.models.fetch import FetchBase, base_fetcher
from skippy_chat.models.header import fault
from skippy_chat.models.writing import Progress

DEFAULT_ALIAS = "default"
BASE_ALIAS = "smollm2"
_SUFFIX = ".gguf"


def resolve_model(
    name: str | None,
    *,
    cache_dir: Path,
    models_dir: Path | None = None,
    progress: Progress,
    fetch_base: FetchBase | None = None,
) -> Path:
    """Return the file that ``name`` means; None and "default" are the default model, made if need be.

    A built-in name wins over a file of that name (write ./default for the file), a path over a short name. Short
    names are file names in ``models_dir`` and in the cache, without their ending. Whether the file holds a model is
    for ``inspect_model`` to say. Raises ModelFileError when nothing matches.
    """
    fetch = fetch_base or base_fetcher(progress=progress)
    if name is None or name == DEFAULT_ALIAS:
        return default_model(cache_dir, progress=progress, fetch_base=fetch)
    if name == BASE_ALIAS:
        return base_model(cache_dir, progress=progress, fetch_base=fetch)
    path = Path(name)
    if path.exists():
        return path
    known = model_names(cache_dir=cache_dir, models_dir=models_dir)
    short = name.removesuffix(_SUFFIX)
    if short in known:
        return known[short]
    if len(path.parts) > 1:
        raise fault(path, "no such file", _near(path.name, _files_in(path.parent)))
    raise ModelFileError(f"No model is called {name!r}.", _near(short, [DEFAULT_ALIAS, BASE_ALIAS, *known]))


def model_names(*, cache_dir: Path, models_dir: Path | None) -> dict[str, Path]:
    """Return the files that have a short name; of two with one name the one in ``models_dir`` counts."""
    folders = [model_folder(cache_dir), *([models_dir] if models_dir is not None else [])]
    return {
        name.removesuffix(_SUFFIX): folder / name
        for folder in folders
        for name in _files_in(folder)
        if name.endswith(_SUFFIX)
    }


def _files_in(folder: Path) -> list[str]:
    """Return the names of the visible files of ``folder``; none when it cannot be read."""
    try:
        return sorted(
            path.name for path in folder.iterdir() if not path.name.startswith(".") and path.is_file()
        )
    except OSError:
        return []


def _near(name: str, names: list[str]) -> str:
    by_lower = {candidate.lower(): candidate for candidate in names}
    near = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {', '.join(by_lower[match] for match in near)}?"
    return f"Known names: {', '.join(names[:8])}." if names else "Give the path of a .gguf file."
