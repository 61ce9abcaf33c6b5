"""The REPL's loop: ask, answer, say what was reused; a failing turn is told and the chat goes on.

Invariant: a turn's events are read to their end before anything else is asked of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import EXIT_INTERRUPTED, ContextFull, SkippyError
from skippy_chat.events import (
    CheckpointFailed,
    Event,
    Notice,
    PrefillProgress,
    ReasoningDelta,
    TextDelta,
    WorkerDied,
)
from skippy_chat.repl.commands import COMMANDS, Leaving, Reply, find
from skippy_chat.repl.face import Answer, Face, Leave
from skippy_chat.talk import Talk
from skippy_chat.turn_log import TurnLog
from skippy_chat.wording import (
    NOT_ANSWERED,
    death_lines,
    ending,
    notice_line,
    plural,
    reuse_line,
    reuse_sentence,
)


def run_repl(conversation: Conversation, face: Face, *, talk: Talk, first: str = "") -> int:
    """Chat until the person leaves or the input ends; return the exit code.

    ``first`` is a message that is there already. In a pipe nobody sees a turn fail, so the code is that of the last
    failure; a person has seen it.
    """
    return _Repl(conversation, face, talk).run(first)


class _Repl:
    def __init__(self, conversation: Conversation, face: Face, talk: Talk) -> None:
        self._conversation = conversation
        self._face = face
        self._talk = talk
        self._code = 0

    def run(self, first: str) -> int:
        self._greet()
        self._remember()
        try:
            if first:
                self._say(first)
            while True:
                self._handle(self._face.ask())
        except Leave:
            return self._code if self._face.sentences else 0
        except KeyboardInterrupt:
            self._talk.clear()
            return EXIT_INTERRUPTED

    def _greet(self) -> None:
        conversation = self._conversation
        model = conversation.model
        count = len(conversation.messages())
        self._face.status(
            f"{conversation.session.name} · {model.name} ({model.kind}) · "
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
        if reply is not None:
            self._turn(reply)
        if command is not COMMANDS["help"]:
            self._remember()

    def _turn(self, begin: Callable[[], Iterator[Event]]) -> None:
        log = TurnLog()
        with self._face.busy(self._conversation.cancel) as interrupt:
            answer = self._face.answer()
            try:
                for event in begin():
                    log.add(event)
                    self._show(event, answer)
            finally:
                self._talk.clear()
                answer.end()
        if log.died is None and ending(log.finish_reason) and (log.steps or interrupt.fired):
            self._face.status(ending("cancelled" if interrupt.fired else log.finish_reason))
        self._tell_reuse(log)

    def _show(self, event: Event, answer: Answer) -> None:
        if isinstance(event, TextDelta):
            self._talk.clear()
            answer.text(event.text)
        elif isinstance(event, ReasoningDelta):
            self._talk.clear()
            answer.reasoning(event.text)
        elif isinstance(event, PrefillProgress):
            self._talk.progress("Reading the prompt", event.done, event.total)
        elif isinstance(event, (Notice, CheckpointFailed, WorkerDied)):
            answer.end()
            self._talk.clear()
            self._face.status(_aside(event))

    def _tell_reuse(self, log: TurnLog) -> None:
        if not log.steps:
            return
        step = log.steps[0]
        say = reuse_sentence if self._face.sentences else reuse_line
        self._face.status(say(log.usage if len(log.steps) > 1 else step.usage, step.cache, step.timings))


def _aside(event: Notice | CheckpointFailed | WorkerDied) -> str:
    if isinstance(event, WorkerDied):
        return "\n".join(death_lines(event))
    return notice_line(event) if isinstance(event, Notice) else f"Nothing was recorded: {event.reason}"
