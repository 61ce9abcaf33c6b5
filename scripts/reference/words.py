"""The table that ``skippy_chat/cli/quick.py`` answers Tab from."""

from __future__ import annotations

import json
from typing import Any

import click

from skippy_chat.cli.root import skippy_chat


def word_table() -> str:
    """Return the command tree's words as JSON: each option once, commands with the numbers of theirs."""
    options: list[dict[str, Any]] = []
    command = _command(
        click.Context(skippy_chat, info_name="skippy-chat", **skippy_chat.context_settings), options, ""
    )
    return json.dumps({"options": options, "command": command}, ensure_ascii=False, indent=1) + "\n"


def _command(context: click.Context, options: list[dict[str, Any]], told: str) -> dict[str, Any]:
    numbers = []
    for param in context.command.get_params(context):
        if isinstance(param, click.Option) and not param.hidden:
            option = _option(param)
            if option not in options:
                options.append(option)
            numbers.append(options.index(option))
    below = {}
    if isinstance(context.command, click.Group):
        # As the group itself offers them: with its own words for each.
        for item in context.command.shell_complete(context, ""):
            command = context.command.get_command(context, item.value)
            assert command is not None
            inner = click.Context(command, info_name=item.value, parent=context)
            below[item.value] = _command(inner, options, item.help or "")
    return {"help": told, "options": numbers, "commands": below}


def _option(param: click.Option) -> dict[str, Any]:
    names = [*param.opts, *param.secondary_opts]
    return {
        # Some releases of click have the names of --help in no certain order.
        "names": sorted(names, key=len) if "--help" in names else names,
        "value": not (param.is_flag or param.count),
        "many": param.multiple,
        "help": param.help or "",
        "choices": [str(each) for each in param.type.choices]
        if isinstance(param.type, click.Choice)
        else None,
    }
