"""The REPL's loop: ask, answer, say what was reused; a failing turn is told and the chat goes on.

Invariant: a turn's events are read to their end before anything else is asked of the conversation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from skippy_chat.agent.naming import name_behind
from skippy_chat.agent.protocol import Conversation
from skippy_chat.agents_wording import agents_line
from skippy_chat.completions.source import Offers
from skippy_chat.errors import EXIT_INTERRUPTED, ContextFull, SkippyError
from skippy_chat.events import Event
from skippy_chat.notifying import ANSWERED, ASKED, FAILED
from skippy_chat.repl.commands import COMMANDS, Chat, find
from skippy_chat.repl.face import Face, Leave
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.room_telling import SUMMARY_ENDINGS, choices
from skippy_chat.repl.services import Services, command_typed
from skippy_chat.repl.telling import tail_text
from skippy_chat.repl.turn import run_turn
from skippy_chat.talk import Talk
from skippy_chat.wording import ENDINGS, NOT_ANSWERED, plural


def run_repl(
    conversation: Conversation,
    face: Face,
    *,
    talk: Talk,
    services: Services,
    first: str = "",
    remind: bool = False,
) -> GoOn | int:
    """Chat until the person leaves, the input ends, or a command goes on elsewhere; return how, or the exit code.

    ``first`` is a message that is there already. ``remind``: the end of the branch is shown, for who comes from another
    session. In a pipe nobody sees a turn fail, so the code is that of the last
    failure; a person has seen it.
    """
    return _Repl(conversation, face, talk, services).run(first, remind=remind)


class _Repl:
    def __init__(self, conversation: Conversation, face: Face, talk: Talk, services: Services) -> None:
        self._conversation = conversation
        self._chat = Chat(conversation, face, services)
        self._face = face
        self._talk = talk
        self._code = 0
        self._going: GoOn | None = None
        self._refused = ""  # what did not fit the context
        self._kept = ""
        self._typed = list(services.typed()) if face.can_ask else []

    def run(self, first: str, *, remind: bool) -> GoOn | int:
        self._face.offer(self._offers)
        self._greet()
        if remind and self._conversation.messages():
            self._face.say(tail_text(self._conversation.messages()))
        self._remember()
        try:
            if first:
                self._handle(first)
            draft = self._draft()
            self._face.keep_drafts(self._keep_draft)
            while self._going is None:
                text = self._face.ask(draft=draft)
                draft = ""
                self._keep_draft("")
                self._handle(text)
                if self._refused and self._answerable():
                    draft, self._refused = self._refused, ""
            return replace(self._going, code=self._due)
        except Leave:
            return self._due
        except KeyboardInterrupt:
            self._talk.clear()
            return EXIT_INTERRUPTED

    def _offers(self, text: str, cursor: int) -> Offers | None:
        services = self._chat.services
        commands = [command.offered(text, services) for command in COMMANDS.values()]
        return services.offers(text, cursor, commands)

    @property
    def _due(self) -> int:
        return 0 if self._face.can_ask else self._code

    def _greet(self) -> None:
        conversation = self._conversation
        model = conversation.model
        count = len(conversation.messages())
        said = plural(count, "message") if count else "a new conversation"
        parts = [conversation.session.label, f"{model.name} ({model.kind})", said, "/help lists the commands"]
        if self._face.sentences:
            parts = [f"Session {parts[0]}, with {parts[1]}: {said}. {parts[3]}."]
        self._face.status(" · ".join(parts))
        agents = agents_line(conversation.session)
        if agents:
            self._face.status(agents)

    def _draft(self) -> str:
        """Return what was typed in this session and not sent; a pipe has words of its own."""
        with contextlib.suppress(SkippyError):
            self._kept = self._conversation.draft
        return self._kept if self._face.can_ask else ""

    def _keep_draft(self, text: str) -> None:
        if text != self._kept and self._face.can_ask:
            self._kept = text
            with contextlib.suppress(SkippyError):  # it is only a draft
                self._conversation.keep_draft(text)

    def _answerable(self) -> bool:
        """Tell whether what was refused has made room for another try."""
        messages = self._conversation.messages()
        return self._face.can_ask and bool(messages) and messages[-1].state != "failed"

    def _remember(self) -> None:
        """Let Up walk this branch first, and then what was typed elsewhere."""
        here = [each.content for each in self._chat.asked()]
        known = set(here)
        self._face.remember([*(each for each in self._typed if each not in known), *here])

    def _handle(self, text: str) -> None:
        self._told(lambda: self._tracked(lambda: self._sent(text)))

    def _sent(self, text: str) -> None:
        outgoing = self._chat.services.outgoing(text, COMMANDS)
        if outgoing is None:
            self._command(text)
            return
        message = self._chat.sent(outgoing)
        self._refused = ""
        if self._face.can_ask:
            self._chat.services.keep_typed(text)
            self._typed.append(text)
        self._turn(lambda: self._conversation.send(message))

    def _shown(self) -> str | None:
        messages = self._conversation.messages()
        return messages[-1].id if messages else None

    def _tracked(self, act: Callable[[], None]) -> None:
        """Do what may leave the branch that is shown, and keep the way back."""
        before = self._shown()
        try:
            act()
        finally:
            if before is not None and all(each.id != before for each in self._conversation.messages()):
                self._chat.trail.append(before)

    def _told(self, act: Callable[[], None]) -> None:
        try:
            act()
        except SkippyError as error:
            self._code = error.exit_code
            self._talk.error(str(error))
            if isinstance(error, ContextFull):
                self._refuse()

    def _refuse(self) -> None:
        """Say what can be done about a context that is full; what was refused waits for room."""
        room = None
        with contextlib.suppress(SkippyError):
            room = self._conversation.room()
        lines = choices(room, self._conversation.model)
        last = self._conversation.messages()[-1:]
        if last and last[0].state == "failed":
            lines = [NOT_ANSWERED, *lines]
            self._refused = last[0].content
            self._keep_draft(self._refused)
        self._face.status("\n".join(lines))

    def _command(self, text: str) -> None:
        word, argument = command_typed(text)
        command = find(word)
        reply = command.run(self._chat, argument)
        if isinstance(reply, GoOn):
            self._going = reply
        elif reply is not None:
            self._turn(reply)
        if command is not COMMANDS["help"]:
            self._remember()

    def _turn(self, begin: Callable[[], Iterator[Event]]) -> None:
        services = self._chat.services
        began = services.monotonic()
        asked = lambda: services.tell(ASKED, began)  # noqa: E731
        try:
            endings = SUMMARY_ENDINGS if begin == self._conversation.compact else ENDINGS
            run_turn(self._conversation, begin, self._face, talk=self._talk, asked=asked, endings=endings)
        except SkippyError:
            services.tell(FAILED, began)
            raise
        services.tell(ANSWERED, began)
        if self._face.can_ask:  # a pipe ends before a title is there
            name_behind(self._conversation, lambda _session: None)
