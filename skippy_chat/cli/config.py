"""``skippy-chat config``: which settings are in force, and which source set each."""

from __future__ import annotations

import click

from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of, project_file, settings_of, workspace_of
from skippy_chat.cli.options import Invocation, chat_settings_options, place_options, workspace_option
from skippy_chat.cli.output import put, put_json, put_table
from skippy_chat.config import load_settings
from skippy_chat.errors import ConfigError
from skippy_chat.trust import PROJECT_FILE, TrustedProjects


@click.group("config", cls=Subcommands)
@workspace_option
@chat_settings_options
def command() -> None:
    """Show the settings in force, and say whether a workspace's own count."""


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
    rows = [(line.key, "" if line.value is None else _shown(line.value), line.source) for line in described]
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


@command.command("trust")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def trust(invocation: Invocation, *, as_json: bool) -> None:
    """Let this workspace's .skippy-chat.toml count from now on, and show what it says.

    It may set what shapes answers, and hold tools back further: it can allow nothing, and run nothing.
    """
    from skippy_chat.agent.approvals.rules_file import load_project_rules  # noqa: PLC0415
    from skippy_chat.agent.approvals.showing import show as complete  # noqa: PLC0415

    file = project_file(invocation)
    if file is None:
        raise ConfigError(f"{workspace_of(invocation)} has no {PROJECT_FILE}.", "There is nothing to trust.")
    load_settings(flags={}, project_file=file)
    load_project_rules(file)
    changed = TrustedProjects(paths_of(invocation).trusted_projects).add(file.parent)
    if as_json:
        put_json(invocation.host, {"schema": 1, "file": str(file), "trusted": True, "changed": changed})
        return
    put(invocation.host, f"{file} {'counts from now on' if changed else 'counts already'}. It says:\n")
    put(invocation.host, complete(file.read_text("utf-8-sig")))


@command.command("untrust")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def untrust(invocation: Invocation, *, as_json: bool) -> None:
    """Let this workspace's .skippy-chat.toml count no longer."""
    workspace = workspace_of(invocation)
    changed = TrustedProjects(paths_of(invocation).trusted_projects).remove(workspace)
    file = workspace / PROJECT_FILE
    if as_json:
        put_json(invocation.host, {"schema": 1, "file": str(file), "trusted": False, "changed": changed})
        return
    put(invocation.host, f"{file} {'counts no longer' if changed else 'did not count'}.")


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
