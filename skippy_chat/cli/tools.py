"""``skippy-chat tools``: what models may be offered, what becomes of their calls, and whether a tools file is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skippy_chat.cli import completing
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.opening import paths_of, settings_of
from skippy_chat.cli.options import Invocation, chat_settings_options, place_options, workspace_option
from skippy_chat.cli.output import put, put_json, put_table
from skippy_chat.wording import plural

if TYPE_CHECKING:
    from skippy_chat.agent.tools.protocol import Tool

_SCHEMA = 1
_CALLS = {"allow": "run at once", "ask": "ask first", "deny": "are denied"}


@click.group("tools", cls=Subcommands)
@workspace_option
@chat_settings_options
def command() -> None:
    """List the tools that models may call, and check files of your own."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@workspace_option
@chat_settings_options
@click.pass_obj
def list_tools(invocation: Invocation, *, as_json: bool) -> None:
    """List every tool: whether a chat offers it as things are set, and what becomes of its calls.

    Rules in approvals.toml may say otherwise for single calls.
    """
    from skippy_chat.agent.tooling import all_tools, chosen_tools, policy_for  # noqa: PLC0415 - pydantic, perhaps
    from skippy_chat.agent.tools.built_in import NAMES  # noqa: PLC0415

    settings = settings_of(invocation, {})
    policy = policy_for(settings, paths_of(invocation))
    offered = {each.name for each in chosen_tools(settings)}
    tools = all_tools(settings)
    if as_json:
        listed = [
            {
                **_tool_json(each),
                "built_in": each.name in NAMES,
                "offered": each.name in offered,
                "calls": policy.usually(each),
            }
            for each in tools
        ]
        put_json(invocation.host, {"schema": _SCHEMA, "approve": settings.approve, "tools": listed})
        return
    head = ("NAME", "OFFERED", "ONLY READS", f"CALLS ({settings.approve})", "DESCRIPTION")
    rows = [
        (
            each.name,
            "yes" if each.name in offered else "no",
            "yes" if each.read_only else "no",
            _CALLS[policy.usually(each)],
            each.description,
        )
        for each in tools
    ]
    put_table(invocation.host, head, rows)
    if not offered:
        invocation.talk.aside(
            "No tool is offered. Choose some: --tools default, or tools = [...] in the config."
        )


@command.command("check")
@click.argument("file", metavar="FILE", shell_complete=completing.files)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@place_options
@click.pass_obj
def check(invocation: Invocation, *, file: str, as_json: bool) -> None:
    """Load FILE as --tool-file would, and show what a model reads about its tools."""
    from skippy_chat.agent.tooling import file_tools  # noqa: PLC0415

    tools = file_tools([str(invocation.host.folder / Path(file).expanduser())])
    if as_json:
        put_json(invocation.host, {"schema": _SCHEMA, "tools": [_tool_json(each) for each in tools]})
        return
    for each in tools:
        only_reads = " (only reads)" if each.read_only else ""
        put(invocation.host, f"{each.name}{only_reads}: {each.description or 'no description'}")
        put(invocation.host, json.dumps(dict(each.parameters), indent=2, ensure_ascii=False) + "\n")
        if not each.description:
            invocation.talk.note(f"{each.name} has no docstring: a model can only guess what it is for.")
    put(invocation.host, f"{plural(len(tools), 'tool')}: usable.")


def _tool_json(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "read_only": tool.read_only,
    }
