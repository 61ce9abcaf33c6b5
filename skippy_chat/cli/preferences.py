"""What the app is told of the person's wishes: theme, keys, settings with their file, and the models that are here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skippy_chat.cli.located import models_here
from skippy_chat.cli.opening import file_value, paths_of, settings_of
from skippy_chat.cli.options import Invocation
from skippy_chat.errors import ModelFileError
from skippy_chat.models.resolve import BASE_ALIAS, DEFAULT_ALIAS
from skippy_chat.paths import Paths
from skippy_chat.tui.commands import keyboard
from skippy_chat.tui.preferences import ModelRow, Preferences


def preferences_of(invocation: Invocation) -> Preferences:
    """Return the person's wishes.

    Raises:
        ConfigError: a setting does not fit, or the keys do not.
    """
    settings = settings_of(invocation, {})
    # A mistake there is told before the screen is taken.
    keyboard(settings.keys, settings.sources.get("keys", "keys"))
    paths = paths_of(invocation)
    return Preferences(
        theme=settings.theme,
        keys=settings.keys,
        file=paths.user_config,
        settings=lambda session: settings_of(invocation, session),
        models=lambda: list(models_of(paths)),
        model_at=lambda path: _model_at(invocation.host.folder / Path(path).expanduser(), paths),
        prepare=lambda key, value: file_value(invocation, key, value),
    )


def models_of(paths: Paths) -> Iterator[ModelRow]:
    """Yield the models that are here, the built-in ones that are not made yet first; only headers are read."""
    here = models_here(paths)
    known = _kinds(paths)
    for name in (DEFAULT_ALIAS, BASE_ALIAS):
        if name not in here:
            yield ModelRow(name)
    for name, path in here.items():
        yield _row(name, path, known)


def _model_at(path: Path, paths: Paths) -> ModelRow | None:
    return _row(str(path), path, _kinds(paths)) if path.is_file() else None


def _kinds(paths: Paths) -> Mapping[tuple[str, str], str]:
    """Return the kinds of the models that were loaded here, by name and architecture."""
    from skippy_chat.checkpoints.survey import model_notes  # noqa: PLC0415 - only when somebody chooses

    return {(each.name, each.architecture): each.kind for each in model_notes(paths.checkpoints_dir).values()}


def _row(name: str, path: Path, known: Mapping[tuple[str, str], str]) -> ModelRow:
    from skippy_chat.models.inspect import inspect_model  # noqa: PLC0415

    try:
        found = inspect_model(path)
    except ModelFileError as error:
        return ModelRow(name, path, fault=error.message)
    return ModelRow(
        name,
        path,
        found.architecture,
        found.quantisation,
        found.size,
        found.context_length,
        known.get((found.name, found.architecture), ""),
    )
