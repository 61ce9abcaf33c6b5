"""``skippy-chat personas``: which personas there are, and what one says."""

from __future__ import annotations

from typing import Any

import click

from skippy_chat.cli import completing
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of, workspace_of
from skippy_chat.cli.options import Invocation, place_options, workspace_option
from skippy_chat.cli.output import put, put_json, put_table
from skippy_chat.errors import ConfigError
from skippy_chat.personas import Persona, find_persona, named_files, read_persona
from skippy_chat.trust import personas_of

_SCHEMA = 1


@click.group("personas", cls=Subcommands)
@workspace_option
@place_options
def command() -> None:
    """List and show personas: system prompts with a name and settings, for --persona.

    A persona is a Markdown file in the folder personas beside config.toml; docs/configuration.md says what goes in.
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def list_personas(invocation: Invocation, *, as_json: bool) -> int:
    """List every persona; exit 1 when one cannot be used."""
    found: list[Persona] = []
    wrong: list[ConfigError] = []
    folders = personas_of(paths_of(invocation), workspace_of(invocation))
    for name, (folder, file) in named_files(folders).items():
        try:
            found.append(read_persona(name, file, of_project=folder.of_project))
        except ConfigError as error:  # noqa: PERF203 - a handful of files
            wrong.append(error)
    if as_json:
        faults = [{"code": each.code, "message": each.message, "hint": each.hint} for each in wrong]
        put_json(
            invocation.host,
            {"schema": _SCHEMA, "personas": [_persona_json(each) for each in found], "wrong": faults},
        )
        return 1 if wrong else 0
    if found:
        rows = [(each.name, _whose(each), each.description or _opening(each)) for each in found]
        put_table(invocation.host, ("NAME", "FROM", "DESCRIPTION"), rows)
    elif not wrong:
        invocation.talk.note(f"No persona is there. Write one: {folders[0].path}/NAME.md")
    for fault in wrong:
        invocation.talk.error(str(fault))
    return 1 if wrong else 0


@command.command("show")
@click.argument("name", shell_complete=completing.personas)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@place_options
@click.pass_obj
def show(invocation: Invocation, *, name: str, as_json: bool) -> None:
    """Show what a persona says: its settings, and its system prompt."""
    folders = personas_of(paths_of(invocation), workspace_of(invocation))
    persona = find_persona(name, folders, f"persona {name}")
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "persona": _persona_json(persona)})
        return
    put(invocation.host, f"{persona.name} · {persona.file}")
    if persona.description:
        put(invocation.host, persona.description)
    for key, value in persona.values.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        put(invocation.host, f"{key} = {shown}")
    put(invocation.host, f"\n{persona.system or '(no system prompt)'}")


def _persona_json(persona: Persona) -> dict[str, Any]:
    return {
        "name": persona.name,
        "file": str(persona.file),
        "of_project": persona.of_project,
        "description": persona.description,
        "settings": dict(persona.values),
        "system": persona.system,
    }


def _whose(persona: Persona) -> str:
    return "workspace" if persona.of_project else "you"


def _opening(persona: Persona) -> str:
    return (persona.system or "").partition("\n")[0][:60]
