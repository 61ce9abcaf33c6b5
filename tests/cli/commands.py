"""Every command there is, by path."""

from __future__ import annotations

from collections.abc import Iterator

import click

from skippy_chat.cli.root import skippy_chat


def all_commands(
    command: click.Command = skippy_chat, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name="skippy-chat")
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from all_commands(below, (*path, name))


PATHS = {" ".join(path): command for path, command in all_commands()}
