"""The command tree, and the one place where a command line starts and ends.

Each command's module is imported when it is named, so that asking for help or a list never waits for an engine.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from skippy_chat import __version__
from skippy_chat.cli.completing import sessions
from skippy_chat.cli.examples import with_examples
from skippy_chat.cli.exits import finish, tell, wants_json
from skippy_chat.cli.groups import Subcommands
from skippy_chat.cli.host import Host
from skippy_chat.cli.options import Invocation, conversation_options
from skippy_chat.errors import UsageError
from skippy_chat.interrupts import Terminated, ending_signals

EXIT_SIGNAL = 128

_COMMANDS = {
    "repl": "The line REPL, for plain terminals, ssh and pipes.",
    "run": "One turn without a face: PROMPT, standard input, or both.",
    "sessions": "Stored conversations: list, show, search, rename, fork, delete, export, import.",
    "cache": "Checkpoints on disk: stats, clear.",
    "models": "Models on this machine: list, info.",
    "tools": "What models may call: list, check a file of your own.",
    "bench": "What reuse, restore, recording and speed measure here.",
    "gate": "Try on this machine what the cache promises, for any model.",
    "doctor": "What is installed, patched and found; what is wrong and the mend.",
    "config": "Settings: show, init, set, unset, schema, path; trust a workspace's own.",
    "personas": "Named system prompts with settings: list, show.",
    "completion": "Completion by Tab for bash, zsh and fish.",
    "man": "Manual pages.",
}


class _Commands(Subcommands):
    """Commands by name, loaded when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"skippy_chat.cli.{cmd_name}")
        command: click.Command = module.command
        return with_examples(command, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Offer commands without loading them."""
        found = [
            CompletionItem(name, help=told) for name, told in _COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@conversation_options
@click.option(
    "--resume",
    metavar="ID",
    shell_complete=sessions,
    help="Open this session (id, its start, or name); it must exist.",
)
@click.version_option(__version__, prog_name="skippy-chat", message="%(prog)s %(version)s")
@click.pass_context
def skippy_chat(context: click.Context, resume: str | None) -> int | None:
    """Chat with local models; no prefix is ever read twice.

    Without a command it starts the full-screen app: on a recent session of this folder, or a new one.
    """
    invocation: Invocation = context.obj
    if resume is not None:
        invocation.typed["resume"] = resume
    if context.invoked_subcommand is not None:
        if resume is not None:
            raise UsageError("--resume is for the app.", "With a command, give --session.")
        return None
    if invocation.plain:
        from skippy_chat.cli.repl import start as start_repl  # noqa: PLC0415 - only when it is wanted

        return start_repl(invocation, need_terminal=True)
    from skippy_chat.cli.app import start  # noqa: PLC0415 - textual, only for the app

    return start(invocation)


with_examples(skippy_chat, "")


def run_command_line(arguments: Sequence[str], host: Host) -> int:
    """Carry out a command line; every error ends here, told once, as an exit code."""
    as_json = wants_json(arguments)
    try:
        # Help and version are printed by click itself, to whatever the process calls standard output.
        with contextlib.redirect_stdout(host.stdout), ending_signals():
            result = _carry_out(arguments, host)
        return finish(host, result if isinstance(result, int) else 0)
    except click.exceptions.Exit as end:
        return finish(host, end.exit_code)
    except Terminated as end:
        return finish(host, EXIT_SIGNAL + end.number)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the boundary: everything becomes one line
        return tell(error, host, as_json=as_json, debug="--debug" in arguments)


def _carry_out(arguments: Sequence[str], host: Host) -> object:
    with skippy_chat.make_context("skippy-chat", list(arguments), obj=Invocation(host)) as context:
        return skippy_chat.invoke(context)
