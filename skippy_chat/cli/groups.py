"""Groups of commands that name the closest one when a name is unknown."""

from __future__ import annotations

from collections.abc import Sequence

import click

from skippy_chat.cli.exits import closest


class Subcommands(click.Group):
    """A click group whose error for an unknown command carries a hint."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise UnknownCommand(args[0], known, ctx)
        return super().resolve_command(ctx, args)


class UnknownCommand(click.UsageError):
    """A command name that does not exist; ``hint`` names the closest."""

    def __init__(self, name: str, known: Sequence[str], context: click.Context) -> None:
        super().__init__(f"There is no command {name}.", ctx=context)
        self.hint = closest(name, known)
