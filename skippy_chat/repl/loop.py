"""The REPL's loop: ask, answer, say what was reused; a failing turn is told and the chat goes on.

Invariant: a turn's events are read to their end before anything else is asked of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from skippy_chat.agent.naming import name_behind
from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import EXIT_INTERRUPTED, ContextFull, SkippyError
from skippy_chat.events import Event
from skippy_chat.exporting import export_here
from skippy_chat.repl.commands import COMMANDS, Exporting, Leaving, Reply, find
from skippy_chat.repl.face import Face, Leave
from skippy_chat.repl.turn import run_turn
from skippy_chat.talk import Talk
from skippy_chat.wording import NOT_ANSWERED, plural


def run_repl(
    conversation: Conversation, face: Face, *, talk: Talk, folder: Path = Path(), first: str = ""
) -> int:
    """Chat until the person leaves or the input ends; return the exit code.

    ``folder`` is where exports go, and ``first`` a message that is there already. In a pipe nobody sees a turn fail, so
    the code is that of the last failure; a person has seen it.
    """
    return _Repl(conversation, face, talk, folder).run(first)


class _Repl:
    def __init__(self, conversation: Conversation, face: Face, talk: Talk, folder: Path) -> None:
        self._conversation = conversation
        self._folder = folder
        self._face = face
        self._talk = talk
        self._code = 0

    def run(self, first: str) -> int:
        self._face.offer(list(COMMANDS))
        self._greet()
        self._remember()
        try:
            if first:
                self._say(first)
            while True:
                self._handle(self._face.ask())
        except Leave:
            return 0 if self._face.can_ask else self._code
        except KeyboardInterrupt:
            self._talk.clear()
            return EXIT_INTERRUPTED

    def _greet(self) -> None:
        conversation = self._conversation
        model = conversation.model
        count = len(conversation.messages())
        self._face.status(
            f"{conversation.session.label} · {model.name} ({model.kind}) · "
            f"{plural(count, 'message') if count else 'a new conversation'} · /help lists the commands"
        )

    def _remember(self) -> None:
        self._face.remember([each.content for each in self._conversation.messages() if each.role == "user"])

    def _handle(self, text: str) -> None:
        if text.startswith("/") and not text.startswith("//"):
            self._told(lambda: self._command(text))
        else:
            self._say(text[1:] if text.startswith("//") else text)

    def _say(self, text: str) -> None:
        self._told(lambda: self._turn(lambda: self._conversation.send(text)))

    def _told(self, act: Callable[[], None]) -> None:
        try:
            act()
        except SkippyError as error:
            self._code = error.exit_code
            self._talk.error(str(error))
            if isinstance(error, ContextFull):
                self._face.status(NOT_ANSWERED)

    def _command(self, text: str) -> None:
        word, _, argument = text[1:].partition(" ")
        command = find(word)
        reply: Reply = command.run(self._conversation, self._face, argument.strip())
        if isinstance(reply, Leaving):
            raise Leave
        if isinstance(reply, Exporting):
            self._face.say(export_here(self._conversation, reply.argument, self._folder))
        elif reply is not None:
            self._turn(reply)
        if command is not COMMANDS["help"]:
            self._remember()

    def _turn(self, begin: Callable[[], Iterator[Event]]) -> None:
        run_turn(self._conversation, begin, self._face, talk=self._talk)
        if self._face.can_ask:  # a pipe ends before a title is there
            name_behind(self._conversation, lambda _session: None)
