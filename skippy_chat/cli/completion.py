"""``skippy-chat completion``: the script that makes a shell ask what Tab should offer."""

from __future__ import annotations

import click

from skippy_chat.cli.options import Invocation
from skippy_chat.cli.output import put
from skippy_chat.cli.shells import SHELLS, script


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def command(invocation: Invocation, *, shell: str) -> None:
    """Print the script that lets Tab complete commands, options, and names of sessions, models and settings.

    \b
    bash: put into ~/.bashrc                    eval "$(skippy-chat completion bash)"
    zsh:  put into ~/.zshrc, behind compinit    eval "$(skippy-chat completion zsh)"
    fish: run once    skippy-chat completion fish > ~/.config/fish/completions/skippy-chat.fish
    """
    put(invocation.host, script(shell).rstrip("\n"))
