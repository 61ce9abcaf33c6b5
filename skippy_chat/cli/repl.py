"""``skippy-chat repl``, and what ``skippy-chat --plain`` starts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skippy_chat.cli.opening import conversation_of, held_session, history_of, paths_of, workspace_of
from skippy_chat.cli.options import Invocation, conversation_options
from skippy_chat.errors import ModelFileError, SessionLocked, SessionNotFound, SkippyError, UsageError
from skippy_chat.text.sizes import format_size

if TYPE_CHECKING:
    from skippy_chat.agent.protocol import Conversation
    from skippy_chat.chat.history import History
    from skippy_chat.completions.aids import TypingAids
    from skippy_chat.repl import Face, GoOn, Services

_WHICH = ("session", "continue_newest", "new")


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
    from skippy_chat.repl import choose_face  # noqa: PLC0415 - prompt_toolkit takes its time

    face = choose_face(
        host.stdin, host.stdout, env=host.env, monotonic=host.monotonic, plain=invocation.plain
    )
    return _Chats(invocation, face).run()


class _Chats:
    """One conversation after another, each closed before the next is opened."""

    def __init__(self, invocation: Invocation, face: Face) -> None:
        from skippy_chat.engine.seat import EngineSeat  # noqa: PLC0415
        from skippy_chat.repl import StoredSessions  # noqa: PLC0415

        self._invocation = invocation
        self._face = face
        self._stored = StoredSessions(self._history, workspace_of(invocation))
        self._seat = EngineSeat()  # so that going to another session loads no model again
        self._before: GoOn | None = None  # the way back to what was open before

    def run(self) -> int:
        from skippy_chat.cli.aids import aids_of  # noqa: PLC0415
        from skippy_chat.repl import GoOn  # noqa: PLC0415

        going: GoOn | int = GoOn()
        refused = 0
        with aids_of(self._invocation) as aids, closing(self._seat):
            while isinstance(going, GoOn):
                refused = going.code or refused
                going = self._chat(going, aids)
        return going or refused

    def _chat(self, going: GoOn, aids: TypingAids) -> GoOn | int:
        """Chat in the session that is meant, or in a fork; read it while another process writes it."""
        from skippy_chat.repl import GoOn, run_held, run_repl  # noqa: PLC0415

        invocation = towards(self._invocation, going)
        talk, before = invocation.talk, self._before
        self._before = None
        with ExitStack() as stack:
            try:
                conversation = stack.enter_context(self._opening(invocation, going))
            except SessionLocked as locked:
                held = stack.enter_context(closing(held_session(invocation, locked)))
                self._before = GoOn(session=held.session.id)
                return run_held(held, self._face, talk=talk, stored=self._stored)
            except SkippyError as error:
                if before is None:
                    raise
                # The person is in the middle of a chat; what cannot be opened must not end it.
                talk.clear()
                talk.error(str(error))
                return replace(before, code=0 if self._face.can_ask else error.exit_code)
            ended = run_repl(
                conversation,
                self._face,
                talk=talk,
                services=self._services(aids),
                first=going.text,
                remind=going.session is not None and not going.changes,
            )
            self._before = _way_back(conversation)
            return ended

    def _opening(self, invocation: Invocation, going: GoOn) -> AbstractContextManager[Conversation]:
        return conversation_of(
            invocation,
            invocation.talk,
            new=True,
            fork=going.fork,
            can_ask=invocation.host.interactive,
            changes=going.changes,
            seat=self._seat,
        )

    def _services(self, aids: TypingAids) -> Services:
        from skippy_chat.cli.aids import notifier_of  # noqa: PLC0415
        from skippy_chat.cli.located import locate, models_here  # noqa: PLC0415
        from skippy_chat.repl import Services  # noqa: PLC0415

        host, paths = self._invocation.host, paths_of(self._invocation)
        return Services(
            self._stored,
            host.folder,
            host.env,
            aids,
            models=lambda: [f"{name}  {_about(path)}" for name, path in models_here(paths).items()],
            check_model=lambda name: locate(name, paths),
            notifier=notifier_of(self._invocation, self._face.clip if self._face.can_clip else None),
            monotonic=host.monotonic,
        )

    @contextlib.contextmanager
    def _history(self) -> Iterator[History]:
        with history_of(self._invocation) as history:
            if history is None:
                raise SessionNotFound("No session is stored yet.", "Write a message first.")
            yield history


def towards(invocation: Invocation, going: GoOn) -> Invocation:
    """Return the command line that would have opened what a command goes on with."""
    if going.session is None and not going.new:
        return invocation
    typed = {name: value for name, value in invocation.typed.items() if name not in _WHICH}
    typed["new"] = going.new
    if going.session is not None or going.title:
        typed["session"] = going.session or going.title
    return replace(invocation, typed=typed)


def _way_back(conversation: Conversation) -> GoOn:
    from skippy_chat.repl import GoOn  # noqa: PLC0415

    if conversation.leaves() or conversation.draft:
        return GoOn(session=conversation.session.id)
    return GoOn(new=True, title=conversation.session.title)


def _about(path: Path) -> str:
    """Return what a model's file says of itself, or what is wrong with it."""
    from skippy_chat.models.inspect import inspect_model  # noqa: PLC0415

    try:
        found = inspect_model(path)
    except ModelFileError as error:
        return error.message
    return f"{found.architecture} {found.quantisation}, {format_size(found.size)}"
