"""``skippy-chat config``: which settings are in force, and which source set each."""

from __future__ import annotations

import click

from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, place_options, settings_options
from skippy_chat.cli.output import put, put_json, put_table


@click.group("config", cls=Subcommands)
@settings_options
def command() -> None:
    """Show the settings in force."""


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options
@click.pass_obj
def show(invocation: Invocation, *, as_json: bool) -> None:
    """Show every key with its value and where the value comes from."""
    described = settings_of(invocation, {}).describe()
    if as_json:
        values = {line.key: {"value": line.value, "source": line.source} for line in described}
        put_json(invocation.host, {"schema": 1, "settings": values})
        return
    rows = [(line.key, "" if line.value is None else _shown(line.value), line.source) for line in described]
    put_table(invocation.host, ("KEY", "VALUE", "SOURCE"), rows)


@command.command("path")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def path(invocation: Invocation, *, as_json: bool) -> None:
    """Print the path of the user's config file."""
    paths = paths_of(invocation)
    if as_json:
        places = {
            "config": str(paths.user_config),
            "data": str(paths.data_dir),
            "cache": str(paths.cache_dir),
        }
        put_json(invocation.host, {"schema": 1, "paths": places})
        return
    put(invocation.host, str(paths.user_config))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
