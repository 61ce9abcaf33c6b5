"""``skippy-chat config``: which settings are in force and why, changing them, trusting a workspace's."""

from __future__ import annotations

import click

from skippy_chat.cli import completing
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import file_value, paths_of, project_file, settings_of, workspace_of
from skippy_chat.cli.options import Invocation, chat_settings_options, place_options, workspace_option
from skippy_chat.cli.output import put, put_json, put_table
from skippy_chat.config import load_settings
from skippy_chat.errors import ConfigError
from skippy_chat.personas import read_persona
from skippy_chat.setting_wording import value_text
from skippy_chat.trust import PROJECT_FILE, PROJECT_FOLDER, TrustedProjects, project_things


@click.group("config", cls=Subcommands)
@workspace_option
@chat_settings_options
def command() -> None:
    """Show the settings in force, change the config file, and say whether a workspace's own settings count."""


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@chat_settings_options
@click.pass_obj
def show(invocation: Invocation, *, as_json: bool) -> None:
    """Show every key with its value and where the value comes from."""
    settings = settings_of(invocation, {})
    described = settings.describe()
    if as_json:
        values = {line.key: {"value": line.value, "source": line.source} for line in described}
        ignored = None if settings.ignored_file is None else str(settings.ignored_file)
        put_json(invocation.host, {"schema": 1, "settings": values, "ignored": ignored})
        return
    rows = [(line.key, value_text(line.value), line.source) for line in described]
    put_table(invocation.host, ("KEY", "VALUE", "SOURCE"), rows)
    if settings.ignored_file is not None:
        invocation.talk.note(f"{settings.ignored_file} is not trusted, so it does not count.")


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


@command.command("init")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def init(invocation: Invocation, *, as_json: bool) -> None:
    """Write a config file in which every key stands as a comment, with its default and meaning.

    A file that is there is never touched.
    """
    from skippy_chat.config_writing import begin_file  # noqa: PLC0415 - writing TOML takes a library of its own

    file = paths_of(invocation).user_config
    begin_file(file)
    if as_json:
        put_json(invocation.host, {"schema": 1, "file": str(file)})
    else:
        put(invocation.host, f"Wrote {file}.")


@command.command("set")
@click.argument("key", shell_complete=completing.keys)
@click.argument("value", shell_complete=completing.values)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def set_value(invocation: Invocation, *, key: str, value: str, as_json: bool) -> None:
    """Let the config file say VALUE for KEY; its comments stay.

    Lists are typed with commas between. The file is made if there is none; nothing is written that does not fit.
    """
    from skippy_chat.config_writing import set_key  # noqa: PLC0415

    name = _name(key)
    file = paths_of(invocation).user_config
    written = set_key(file, name, file_value(invocation, name, value))
    if as_json:
        put_json(invocation.host, {"schema": 1, "file": str(file), "key": name, "value": written})
    else:
        put(invocation.host, f"{name} is {value_text(written)} in {file}.")
    _tell_hidden(invocation, name)


@command.command("unset")
@click.argument("key", shell_complete=completing.keys)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def unset(invocation: Invocation, *, key: str, as_json: bool) -> None:
    """Take KEY out of the config file, so that its default counts."""
    from skippy_chat.config_writing import unset_key  # noqa: PLC0415

    name = _name(key)
    file = paths_of(invocation).user_config
    changed = unset_key(file, name)
    if as_json:
        put_json(invocation.host, {"schema": 1, "file": str(file), "key": name, "changed": changed})
    else:
        put(invocation.host, f"{file} {'says nothing for' if changed else 'said nothing for'} {name}.")


@command.command("schema")
@click.option("--project", "of_project", is_flag=True, help="Of a workspace's .skippy-chat.toml.")
@click.option("--json", "as_json", is_flag=True, help="A JSON Schema is JSON anyway.")
@place_options
@click.pass_obj
def schema(invocation: Invocation, *, of_project: bool, as_json: bool) -> None:  # noqa: ARG001 - see its help
    """Print the JSON Schema of the config file, for editors."""
    from skippy_chat.config_schema import config_schema  # noqa: PLC0415

    put_json(invocation.host, config_schema(of_project=of_project))


@command.command("trust")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def trust(invocation: Invocation, *, as_json: bool) -> None:
    """Let this workspace's .skippy-chat.toml, personas and prompts count from now on, and show what they say.

    They may shape answers, and hold tools back further: they can allow nothing, and run nothing.
    """
    from skippy_chat.agent.approvals.rules_file import load_project_rules  # noqa: PLC0415
    from skippy_chat.agent.approvals.showing import show as complete  # noqa: PLC0415

    workspace = workspace_of(invocation)
    things = project_things(workspace)
    if not things:
        raise ConfigError(
            f"{workspace} has no {PROJECT_FILE}, and no {PROJECT_FOLDER}.", "There is nothing to trust."
        )
    file = project_file(invocation)
    if file is not None:
        load_settings(flags={}, project_file=file)
        load_project_rules(file)
    for each in things:
        if each.parent.name == "personas":
            read_persona(each.stem, each, of_project=True)
    changed = TrustedProjects(paths_of(invocation).trusted_projects).add(workspace)
    if as_json:
        told = {"file": str(workspace / PROJECT_FILE), "trusted": True, "changed": changed}
        put_json(invocation.host, {"schema": 1, **told, "files": [str(each) for each in things]})
        return
    for each in things:
        put(invocation.host, f"{each} {'counts from now on' if changed else 'counts already'}. It says:\n")
        put(invocation.host, complete(each.read_text("utf-8-sig", "replace")))


@command.command("untrust")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def untrust(invocation: Invocation, *, as_json: bool) -> None:
    """Let this workspace's .skippy-chat.toml, personas and prompts count no longer."""
    workspace = workspace_of(invocation)
    changed = TrustedProjects(paths_of(invocation).trusted_projects).remove(workspace)
    file = workspace / PROJECT_FILE
    if as_json:
        put_json(invocation.host, {"schema": 1, "file": str(file), "trusted": False, "changed": changed})
        return
    put(invocation.host, f"{file} {'counts no longer' if changed else 'did not count'}.")


def _name(key: str) -> str:
    return key.strip().replace("-", "_")


def _tell_hidden(invocation: Invocation, name: str) -> None:
    """Say when something above the config file hides what was just set."""
    try:
        source = settings_of(invocation, {}).sources.get(name, "")
    except ConfigError:  # a mistake elsewhere is told when it matters; this one line is written
        return
    if not source.startswith(str(paths_of(invocation).user_config)):
        invocation.talk.note(f"It does not count here: {source} goes before it.")
