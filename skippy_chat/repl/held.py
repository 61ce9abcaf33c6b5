"""The REPL on a session that another process writes: it can be read, tried again, or gone on with in a copy.

Invariant: nothing typed here ever goes to that session; it goes to a fork the person asked for, or nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skippy_chat.agent.protocol import Fork, Held
from skippy_chat.chat.messages import Message
from skippy_chat.completions.source import Offered, offers
from skippy_chat.errors import EXIT_INTERRUPTED, SessionLocked, SkippyError, UsageError
from skippy_chat.repl.commands import OTHER_NAMES
from skippy_chat.repl.commands.sessions import go_to
from skippy_chat.repl.face import Face, Leave
from skippy_chat.repl.finding import found_text
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.stored import StoredSessions
from skippy_chat.repl.telling import history_text, number_of, result_text, session_text, tail_text
from skippy_chat.talk import Talk
from skippy_chat.wording import plural, written_by

_COMMANDS = {
    "fork": ("/fork [NAME]", "Go on from here in a copy of the session; nothing is read again."),
    "retry": ("/retry", "Open the session, if its writer has ended."),
    "history": ("/history [N]", "Show this branch as it stands now; from your message N on."),
    "find": ("/find TEXT", "Show where in this branch a text stands."),
    "result": ("/result [N]", "Show all of a tool's result N (the last)."),
    "sessions": ("/sessions [N|TEXT]", "List this folder's sessions, find some in all, or open one."),
    "new": ("/new [TITLE]", "Begin a new session."),
    "session": ("/session", "Show the session's name, id and size."),
    "help": ("/help", "Show this list."),
    "quit": ("/quit", "Leave."),
}


def run_held(held: Held, face: Face, *, talk: Talk, stored: StoredSessions) -> GoOn | int:
    """Show the session until the person goes on, leaves, or the input ends; return how to go on, or the exit code.

    In a pipe nobody can be asked, so the code is that of the last message or command that was refused.
    """
    return _Held(held, face, talk, stored).run()


class _Held:
    def __init__(self, held: Held, face: Face, talk: Talk, stored: StoredSessions) -> None:
        self._held = held
        self._face = face
        self._talk = talk
        self._stored = stored
        self._shown: Sequence[Message] = ()
        self._code = 0

    def run(self) -> GoOn | int:
        offered = [Offered(name, does, usage.partition(" ")[2]) for name, (usage, does) in _COMMANDS.items()]
        self._face.offer(lambda text, cursor: offers(text, cursor, offered, lambda _typed: ()))
        self._greet()
        try:
            while True:
                going = self._handle(self._face.ask())
                if going is not None:
                    return replace(going, code=self._due)
        except Leave:
            return self._due
        except KeyboardInterrupt:
            self._talk.clear()
            return EXIT_INTERRUPTED

    @property
    def _due(self) -> int:
        return 0 if self._face.can_ask else self._code

    def _greet(self) -> None:
        self._shown = self._held.messages()
        count = plural(len(self._shown), "message")
        label = self._held.session.label
        held = f"Session {label}: {count}. " if self._face.sentences else f"{label} · {count} · "
        self._face.status(f"{held}{written_by(self._held.writer)}")
        if self._shown:
            self._face.say(tail_text(self._shown))
        self._face.status("Read-only: /fork goes on in a copy, /retry tries again, /help tells more.")

    def _handle(self, text: str) -> GoOn | None:
        try:
            if text.startswith("/") and not text.startswith("//"):
                word, _, argument = text[1:].partition(" ")
                return self._command(word, argument.strip())
            return self._offered(text)
        except SkippyError as error:
            self._code = error.exit_code
            self._talk.error(str(error))
            return None

    def _command(self, word: str, argument: str) -> GoOn | None:
        if word == "fork":
            return GoOn(fork=self._fork(argument))
        if word == "retry":
            return GoOn()
        if word == "sessions":
            return go_to(self._stored, self._face, self._held.session, argument)
        if word == "new":
            return GoOn(new=True, title=argument)
        if OTHER_NAMES.get(word, word) == "quit":
            raise Leave
        self._show(word, argument)
        return None

    def _show(self, word: str, argument: str) -> None:
        if word == "help":
            width = max(len(usage) for usage, _ in _COMMANDS.values())
            self._face.say("\n".join(f"{usage:<{width}}  {told}" for usage, told in _COMMANDS.values()))
        elif word == "history":
            self._shown = self._held.messages()
            asked = max(1, sum(each.role == "user" for each in self._shown))
            begin = number_of(argument, asked, "message", default=1)
            self._face.say(history_text(self._shown, begin) or "Nothing has been said yet.")
        elif word == "find":
            self._face.say(found_text(self._held.messages(), argument, sentences=self._face.sentences))
        elif word == "result":
            self._face.say(result_text(self._held.messages(), argument))
        elif word == "session":
            self._shown = self._held.messages()
            self._face.say(session_text(self._held.session, len(self._shown)))
        else:
            raise UsageError(
                f"There is no command /{word} in a session that is read-only.", "/help lists those there are."
            )

    def _offered(self, text: str) -> GoOn | None:
        """Offer the fork for a message; without somebody to ask, refuse it."""
        if self._face.confirm("This session is read-only. Send this to a copy of it instead?"):
            return GoOn(fork=self._fork(""), text=text)
        raise SessionLocked(
            f"The message was not sent: {written_by(self._held.writer)}", "/fork goes on in a copy of it."
        )

    def _fork(self, title: str) -> Fork:
        # From what the person has seen, whatever was written since.
        return Fork(self._held.session.id, self._shown[-1].id if self._shown else None, title)
