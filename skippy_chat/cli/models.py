"""``skippy-chat models``: which model files are here, and what one says of itself.

Invariant: nothing is fetched or made here; only headers of files that are already there are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from skippy_chat.cli.exits import closest
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of
from skippy_chat.cli.options import Invocation, place_options
from skippy_chat.cli.output import put, put_json, put_table
from skippy_chat.errors import ModelFileError
from skippy_chat.models.inspect import ModelFile, inspect_model
from skippy_chat.text.sizes import format_size


@click.group("models", cls=Subcommands)
@place_options
def command() -> None:
    """Look at the models on this machine."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def list_models(invocation: Invocation, *, as_json: bool) -> None:
    """List the model files that --model finds by name."""
    folder = paths_of(invocation).models_dir
    found = [(path, _looked_at(path)) for path in model_files(folder)]
    if as_json:
        models = [_json(path, model) for path, model in found]
        put_json(invocation.host, {"schema": 1, "folder": str(folder), "models": models})
    elif not found:
        invocation.host.talk.note(f"No model is in {folder}; the default one is made at first use.")
    else:
        put_table(
            invocation.host,
            ("NAME", "ARCHITECTURE", "QUANTISATION", "SIZE", "CONTEXT"),
            [_row(path, model) for path, model in found],
        )


@command.command("info")
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def info(invocation: Invocation, *, model: str, as_json: bool) -> None:
    """Check a model file, by path or by a name `models list` shows, and print what it says of itself."""
    path = _path_of(model, paths_of(invocation).models_dir)
    found = inspect_model(path)
    if as_json:
        put_json(invocation.host, {"schema": 1, "model": _json(path, found)})
        return
    for key, value in _facts(found).items():
        put(invocation.host, f"{key}: {value}")


def model_files(folder: Path) -> list[Path]:
    """Return the models in a folder, of split ones only the first part; nothing when there is no folder."""
    try:
        files = sorted(folder.glob("*.gguf"))
    except OSError:
        return []
    return [path for path in files if "-of-" not in path.stem or "-00001-of-" in path.stem]


def _path_of(model: str, folder: Path) -> Path:
    known = {path.stem: path for path in model_files(folder)}
    if model in known:
        return known[model]
    path = Path(model).expanduser()
    if path.exists() or path.suffix == ".gguf" or len(path.parts) > 1:
        return path
    raise ModelFileError(
        f"There is no model named {model}.", closest(model, list(known)) or "See: skippy-chat models list"
    )


def _looked_at(path: Path) -> ModelFile | ModelFileError:
    try:
        return inspect_model(path)
    except ModelFileError as error:
        return error


def _row(path: Path, model: ModelFile | ModelFileError) -> tuple[str, ...]:
    if isinstance(model, ModelFileError):
        return (path.stem, "", "", "", model.message)
    return (
        path.stem,
        model.architecture,
        model.quantisation,
        format_size(model.size),
        "" if model.context_length is None else f"{model.context_length:,}",
    )


def _facts(model: ModelFile) -> dict[str, str]:
    context = "not said" if model.context_length is None else f"{model.context_length:,} tokens"
    return {
        "Name": model.name,
        "File": str(model.path),
        "Architecture": model.architecture,
        "Parameters": f"{model.n_parameters:,} in {model.n_tensors:,} tensors",
        "Quantisation": model.quantisation,
        "Size": format_size(model.size),
        "Trained context": context,
        "Chat template": "yes" if model.chat_template else "none",
        "Licence": model.licence or "not said",
    }


def _json(path: Path, model: ModelFile | ModelFileError) -> dict[str, Any]:
    if isinstance(model, ModelFileError):
        return {"name": path.stem, "path": str(path), "fault": model.message}
    return {
        "name": path.stem,
        "path": str(path),
        "title": model.name,
        "architecture": model.architecture,
        "quantisation": model.quantisation,
        "bytes": model.size,
        "parameters": model.n_parameters,
        "tensors": model.n_tensors,
        "context_length": model.context_length,
        "has_chat_template": bool(model.chat_template),
        "licence": model.licence,
        "fault": None,
    }
