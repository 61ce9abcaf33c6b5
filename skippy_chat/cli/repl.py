"""``skippy-chat repl``, and what ``skippy-chat --plain`` starts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from skippy_chat.cli.opening import conversation_of, held_session, paths_of, settings_of, workspace_of
from skippy_chat.cli.options import Invocation, conversation_options
from skippy_chat.errors import SessionLocked, UsageError

if TYPE_CHECKING:
    from skippy_chat.completions.aids import TypingAids
    from skippy_chat.repl import Face, GoOn


@click.command("repl")
@conversation_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Chat line by line.

    Enter submits, Alt-Enter or Ctrl-J starts a new line, Ctrl-C stops an answer, Ctrl-D leaves; /help lists the
    commands. In a pipe each line is one message, and a backslash at its end joins the next. A session that another
    skippy-chat writes opens read-only; /fork goes on in a copy of it.
    """
    return start(invocation, need_terminal=False)


def start(invocation: Invocation, *, need_terminal: bool) -> int:
    """Run the REPL that this terminal, or pipe, can show."""
    host = invocation.host
    if need_terminal and not host.interactive:
        raise UsageError(
            "A chat needs a terminal.", "In a pipe use: skippy-chat run, or skippy-chat repl for many turns."
        )
    from skippy_chat.repl import GoOn, choose_face  # noqa: PLC0415 - prompt_toolkit takes its time

    face = choose_face(
        host.stdin, host.stdout, env=host.env, monotonic=host.monotonic, plain=invocation.plain
    )
    going: GoOn | int = GoOn()
    refused = 0
    while isinstance(going, GoOn):
        refused = going.code or refused
        going = _chat(towards(invocation, going), face, going)
    return going or refused


def towards(invocation: Invocation, going: GoOn) -> Invocation:
    """Return the command line that would have opened what a command goes on with."""
    typed = dict(invocation.typed)
    if going.session is not None or going.new:
        for name in ("session", "continue_newest", "new"):
            typed.pop(name, None)
        if going.session is not None or going.title:
            typed["session"] = going.session or going.title
        typed["new"] = going.new
    if going.model is not None:
        typed["model"] = going.model
    if going.context is not None:
        typed["ctx"] = going.context
    if going.reasoning is not None:
        typed["reasoning"] = "on" if going.reasoning else "off"
    return replace(invocation, typed=typed)


def _chat(invocation: Invocation, face: Face, going: GoOn) -> GoOn | int:
    """Chat in the session that was asked for, or in a fork; read it while another process writes it."""
    from skippy_chat.repl import Services, run_held, run_repl  # noqa: PLC0415

    talk = invocation.talk
    with ExitStack() as stack:
        try:
            opening = conversation_of(
                invocation, talk, new=True, fork=going.fork, can_ask=invocation.host.interactive
            )
            conversation = stack.enter_context(opening)
        except SessionLocked as locked:
            held = stack.enter_context(closing(held_session(invocation, locked)))
            return run_held(held, face, talk=talk)
        services = Services(
            invocation.host.folder, invocation.host.env, stack.enter_context(_aids(invocation))
        )
        return run_repl(conversation, face, talk=talk, services=services, first=going.text)


@contextlib.contextmanager
def _aids(invocation: Invocation) -> Iterator[TypingAids]:
    """Give what helps to type in this workspace, and what was typed before."""
    from skippy_chat.completions.aids import TypingAids  # noqa: PLC0415
    from skippy_chat.typed_history import TypedHistory  # noqa: PLC0415

    paths = paths_of(invocation)
    keep = settings_of(invocation, {}).typed_history
    with contextlib.closing(TypedHistory(paths.history_db, now=invocation.host.now_ms, keep=keep)) as typed:
        yield TypingAids(paths, workspace_of(invocation), typed)
