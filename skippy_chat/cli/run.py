"""``skippy-chat run``: one turn, or the replay of a stored one, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skippy_chat.cli.host import Host
from skippy_chat.cli.opening import conversation_of
from skippy_chat.cli.options import Invocation, conversation_options
from skippy_chat.errors import UsageError
from skippy_chat.talk import on_terminal

if TYPE_CHECKING:
    from skippy_chat.agent.protocol import TurnOptions


@click.command("run")
@click.argument("prompt", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one object when the turn is done.")
@click.option("--jsonl", is_flag=True, help="Print the events, one a line, as they happen.")
@click.option("--json-schema", metavar="FILE|TEXT", help="Answer with JSON that fits this JSON Schema.")
@click.option(
    "--go-on",
    is_flag=True,
    help="Continue a turn that was stopped in the middle; needs --session or --continue.",
)
@click.option("--message", metavar="ID", help="With --replay and no prompt: the answer to replay.")
@conversation_options
@click.pass_obj
def command(
    invocation: Invocation,
    *,
    prompt: str | None,
    as_json: bool,
    jsonl: bool,
    json_schema: str | None,
    go_on: bool,
    message: str | None,
) -> int:
    """Answer PROMPT and print the answer.

    PROMPT comes from standard input when it is absent or "-"; when both are given they are joined, PROMPT first.
    Without --session or --continue the turn starts a new session. With --replay and no PROMPT the session's last
    answer is computed again from scratch and compared with what was stored.

    With --tools the model may call tools, and what is printed is its last word. Nobody is asked here: calls that only
    read the workspace run, what needs approval is denied, unless --approve or your rules say otherwise. A turn that was
    stopped, or ended by a limit, is continued by --go-on.
    """
    host = invocation.host
    if as_json and jsonl:
        raise UsageError("--json does not go with --jsonl.", "Give one of them.")
    from skippy_chat.headless import Shape, run_replay, run_turn  # noqa: PLC0415 - not for help and completion

    shape = Shape.JSON if as_json else Shape.JSONL if jsonl else Shape.TEXT
    talk = invocation.talk
    if invocation.typed.get("replay") and prompt is None:
        # The stored turn's own schedule is what runs; the setting is for turns that are still to come.
        del invocation.typed["replay"]
        with conversation_of(invocation, talk, new=False, must_exist=True) as conversation:
            items = conversation.replay(message)
            return run_replay(conversation, items, shape=shape, stdout=host.stdout, talk=talk)
    if message is not None:
        raise UsageError(
            "--message names an answer to replay.", "Give it with --replay and without a prompt."
        )
    if go_on:
        if prompt is not None or json_schema is not None:
            raise UsageError(
                "--go-on asks nothing new.", "Give it without a prompt and without --json-schema."
            )
        with conversation_of(invocation, talk, new=False, must_exist=True) as conversation:
            return run_turn(conversation, conversation.go_on(), shape=shape, stdout=host.stdout, talk=talk)
    options = _turn_options(invocation, json_schema)
    text = prompt_text(prompt, host)
    with conversation_of(invocation, talk, new=True) as conversation:
        events = conversation.send(text, options)
        return run_turn(conversation, events, shape=shape, stdout=host.stdout, talk=talk)


def _turn_options(invocation: Invocation, json_schema: str | None) -> TurnOptions | None:
    """Return what holds for this turn alone.

    Raises:
        UsageError: a schema that cannot be used, or one beside tools.
    """
    if json_schema is None:
        return None
    if invocation.typed.get("tools", "none") != "none" or invocation.typed.get("tool_files"):
        raise UsageError(
            "--json-schema does not go with tools: the answer is JSON, never a call.", "Give one of them."
        )
    from skippy_chat.agent.protocol import TurnOptions  # noqa: PLC0415
    from skippy_chat.cli.schema import read_schema  # noqa: PLC0415

    return TurnOptions(json_schema=read_schema(json_schema))


def prompt_text(prompt: str | None, host: Host) -> str:
    """Return the whole prompt: the argument, standard input, or both.

    Raises:
        UsageError: there is none, or standard input is not UTF-8 text.
    """
    given = None if prompt == "-" else prompt
    piped = ""
    # Reading a terminal nobody announced would look like a hang; "-" announces it.
    if prompt == "-" or not on_terminal(host.stdin):
        piped = _read(host)
    text = "\n\n".join(part for part in (given, piped) if part)
    if not text.strip():
        raise UsageError("There is no prompt.", 'Give one: skippy-chat run "…", or pipe text in.')
    return text


def _read(host: Host) -> str:
    raw = getattr(host.stdin, "buffer", None)
    try:
        text: str = host.stdin.read() if raw is None else raw.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"Standard input is not UTF-8 text (byte {error.start}).", "Convert it, for example with iconv."
        ) from error
    except (OSError, ValueError):  # closed: the same as empty
        return ""
    return text.replace("\r\n", "\n").rstrip("\n")
