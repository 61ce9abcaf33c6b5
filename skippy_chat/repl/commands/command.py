"""What a slash command of the REPL is: its usage, what it does, and the function that does it.

Invariant: a command changes nothing before its argument has been understood.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from skippy_chat.agent.protocol import Conversation
from skippy_chat.chat.messages import Message
from skippy_chat.completions.aids import Outgoing
from skippy_chat.completions.source import Offered
from skippy_chat.errors import SkippyError
from skippy_chat.events import Event
from skippy_chat.repl.face import Face
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.services import Services


@dataclass(frozen=True, slots=True)
class Chat:
    """What a command works on; ``trail`` are the ends of branches that were shown before, the last one last."""

    conversation: Conversation
    face: Face
    services: Services
    trail: list[str] = field(default_factory=list)

    def asked(self) -> list[Message]:
        """Return the person's messages of the current branch."""
        return [each for each in self.conversation.messages() if each.role == "user"]

    def sent(self, outgoing: Outgoing) -> str:
        """Say what goes along with a message, and return its text."""
        if outgoing.files:
            self.face.status(f"With {', '.join(outgoing.files)}.")
        for note in outgoing.notes:
            self.face.status(note)
        return outgoing.text


Reply: TypeAlias = "Callable[[], Iterator[Event]] | GoOn | None"
"""What is to follow a command: a turn, another conversation, or nothing."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command; ``usage`` shows its name and arguments.

    ``run`` is given what was typed behind the name. It raises ``Leave`` to end the chat. ``words`` are what the first
    argument may be, where there is a choice; ``look_up`` finds those that are there at the moment.
    """

    usage: str
    does: str
    run: Callable[[Chat, str], Reply]
    words: Sequence[str] = ()
    look_up: Callable[[Services], Sequence[str]] | None = None

    @property
    def name(self) -> str:
        """The word behind the slash."""
        return self.usage.removeprefix("/").partition(" ")[0]

    def offered(self, typed: str, services: Services) -> Offered:
        """Return the command as completion offers it while ``typed`` is there; looks up no more than that needs."""
        words = self.words
        if self.look_up is not None and typed.startswith(f"/{self.name} "):
            with contextlib.suppress(SkippyError):
                words = self.look_up(services)
        return Offered(self.name, self.does, self.usage.partition(" ")[2], words)
