"""A whole chat on a scripted conversation, on the plain face: what is typed in, what is said out."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.chat.history import History
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.loop import run_repl
from skippy_chat.repl.plain import PlainFace
from skippy_chat.repl.services import Services
from skippy_chat.repl.stored import StoredSessions
from skippy_chat.talk import Talk
from tests.fakes.conversation import FakeConversation


class Person(PlainFace):
    """Somebody is there, who types nothing ahead of a question."""

    @property
    def can_ask(self) -> bool:
        return True

    def choose(self, question: str) -> str:
        self.say(question)
        return self._line()


class Drawing(PlainFace):
    """Writes as the plain face does, and is drawn for."""

    @property
    def sentences(self) -> bool:
        return False


def unused() -> AbstractContextManager[History]:
    """Open no history: what these commands say has nothing to do with stored sessions."""
    raise AssertionError("no stored session is asked for here")


def services(folder: Path = Path(), env: Mapping[str, str] | None = None) -> Services:
    """Return services without stored sessions."""
    return Services(StoredSessions(unused, folder), folder, env or {})


@dataclass(frozen=True)
class Chatted:
    """What a chat wrote to both outputs, and how it ended."""

    out: str
    err: str
    ended: GoOn | int


def chat(
    conversation: FakeConversation,
    text: str,
    given: Services | None = None,
    kind: type[PlainFace] = PlainFace,
) -> Chatted:
    """Type ``text``, a message or command on each line, until its end."""
    out, err = io.StringIO(), io.StringIO()
    face = kind(io.StringIO(text), out, lambda: 0.0)
    talk = Talk(err, lambda: 0.0, plain=True)
    ended = run_repl(conversation, face, talk=talk, services=given or services())
    return Chatted(out.getvalue(), err.getvalue(), ended)
