"""``skippy-chat models``: which model files are here, what one says of itself, and whether its state is exact.

Invariant: ``list`` and ``info`` fetch and make nothing; only headers of files that are already there are read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from skippy_chat.cli import completing
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.located import locate, models_here
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, place_options, threads_option
from skippy_chat.cli.output import put, put_json, put_table
from skippy_chat.errors import EXIT_FAILED, ModelFileError
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
    paths = paths_of(invocation)
    folder = paths.models_dir
    found = [(name, path, _looked_at(path)) for name, path in models_here(paths).items()]
    if as_json:
        models = [_json(name, path, model) for name, path, model in found]
        put_json(invocation.host, {"schema": 1, "folder": str(folder), "models": models})
    elif not found:
        invocation.host.talk.note(f"No model is in {folder}; the default one is made at first use.")
    else:
        put_table(
            invocation.host,
            ("NAME", "ARCHITECTURE", "QUANTISATION", "SIZE", "CONTEXT"),
            [_row(name, model) for name, _path, model in found],
        )


@command.command("info")
@click.argument("model", shell_complete=completing.models)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def info(invocation: Invocation, *, model: str, as_json: bool) -> None:
    """Check a model file, by path or by a name `models list` shows, and print what it says of itself."""
    path = locate(model, paths_of(invocation))
    if path is None:
        raise ModelFileError(
            f"The model {model} is not made yet.", f"Make it: skippy-chat run --model {model} hello"
        )
    found = inspect_model(path)
    if as_json:
        put_json(invocation.host, {"schema": 1, "model": _json(model, path, found)})
        return
    for key, value in _facts(found).items():
        put(invocation.host, f"{key}: {value}")


@command.command("check")
@click.argument("model", required=False, shell_complete=completing.models)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@threads_option
@place_options
@click.pass_obj
def check(invocation: Invocation, *, model: str | None, as_json: bool) -> int:
    """Load a model and try, afresh, whether its state comes back exactly; exit 1 when it does not.

    MODEL is a path or a name; without it the one that would be used is checked.

    \b
    skippy-chat models check
    skippy-chat models check ./qwen.gguf -c kv_type=q8_0
    """
    from skippy_chat.agent.checking import check_model  # noqa: PLC0415 - the engine, only when it is needed

    host = invocation.host
    settings = settings_of(invocation, {})
    if model is not None:
        settings = replace(settings, model=model)
    found = check_model(paths_of(invocation), settings, on_progress=invocation.talk.progress)
    invocation.talk.clear()
    proven = found.proof is not None and not found.proof.startswith("off")
    if as_json:
        put_json(
            host,
            {
                "schema": 1,
                "model": {
                    "name": found.name,
                    "sha256": found.sha256,
                    "identity": found.identity,
                    "architecture": found.architecture,
                    "kind": found.model_kind,
                    "memory": found.memory,
                },
                "checkpoints": {"proven": proven, "text": found.proof, "seconds": found.proof_seconds},
            },
        )
    else:
        put(host, f"{found.name}: {found.architecture}, {found.model_kind} ({found.memory} memory)")
        put(host, f"Checkpoints: {found.proof}, in {found.proof_seconds:.2f} s")
    return 0 if proven else EXIT_FAILED


def _looked_at(path: Path) -> ModelFile | ModelFileError:
    try:
        return inspect_model(path)
    except ModelFileError as error:
        return error


def _row(name: str, model: ModelFile | ModelFileError) -> tuple[str, ...]:
    if isinstance(model, ModelFileError):
        return (name, "", "", "", model.message)
    return (
        name,
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


def _json(name: str, path: Path, model: ModelFile | ModelFileError) -> dict[str, Any]:
    if isinstance(model, ModelFileError):
        return {"name": name, "path": str(path), "fault": model.message}
    return {
        "name": name,
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
