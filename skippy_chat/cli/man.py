"""``skippy-chat man``: manual pages, made when they are asked for."""

from __future__ import annotations

import click

from skippy_chat.cli.groups import UnknownCommand
from skippy_chat.cli.options import Invocation
from skippy_chat.cli.output import put
from skippy_chat.cli.roff import manual_page


@click.command("man")
@click.argument("path", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, *, path: tuple[str, ...]) -> None:
    """Print the manual page of the program, or of COMMAND, as roff.

    To read one: skippy-chat man | man -l -
    """
    at = context.find_root()
    for name in path:
        group = at.command
        known = group.list_commands(at) if isinstance(group, click.Group) else []
        below = group.get_command(at, name) if isinstance(group, click.Group) else None
        if below is None:
            raise UnknownCommand(name, known, context)
        at = click.Context(below, info_name=name, parent=at)
    invocation = context.find_object(Invocation)
    assert invocation is not None, "every context of ours has one"
    put(invocation.host, manual_page(at).rstrip("\n"))
