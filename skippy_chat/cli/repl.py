"""``skippy-chat repl``, and what bare ``skippy-chat`` starts."""

from __future__ import annotations

import click

from skippy_chat.cli.opening import conversation_of
from skippy_chat.cli.options import Invocation, conversation_options
from skippy_chat.errors import UsageError


@click.command("repl")
@conversation_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Chat line by line.

    Enter submits, Alt-Enter or Ctrl-J starts a new line, Ctrl-C stops an answer, Ctrl-D leaves; /help lists the
    commands. In a pipe each line is one message, and a backslash at its end joins the next.
    """
    return start(invocation, need_terminal=False)


def start(invocation: Invocation, *, need_terminal: bool) -> int:
    """Run the REPL that this terminal, or pipe, can show."""
    host = invocation.host
    if need_terminal and not host.interactive:
        raise UsageError(
            "A chat needs a terminal.", "In a pipe use: skippy-chat run, or skippy-chat repl for many turns."
        )
    from skippy_chat.repl import choose_face, run_repl  # noqa: PLC0415 - prompt_toolkit takes its time

    talk = invocation.talk
    with conversation_of(invocation, talk, new=True) as conversation:
        face = choose_face(
            host.stdin, host.stdout, env=host.env, monotonic=host.monotonic, plain=invocation.plain
        )
        return run_repl(conversation, face, talk=talk)
