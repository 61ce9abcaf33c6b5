"""On the edge of the box, before a text is sent: where it would resume, and what it would have to read.

Invariant: what stands there is told of the very text in the box, or nothing stands there. No key waits for it, and
nothing is asked while a turn runs, since the model needs the processor then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.cache_wording import amend_line, cost_of, edit_line, foreseen_line
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import Foreseen
from skippy_chat.tui.command import Parts
from skippy_chat.tui.display import shown, visible_line
from skippy_chat.tui.looks import Looks, Seen

_KIND = "foresight"
_PAUSE = 0.25
_SHARE = 2.0  # a look that took long is followed by a pause so many times as long
_EDGE = 4


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is being asked about: the text, and the message that it would take the place of."""

    text: str
    message: Message | None


class Foresight:
    """Asks when typing pauses, and shows what comes of it."""

    def __init__(self, parts: Parts, looks: Looks) -> None:
        self._parts = parts
        self._looks = looks
        self._edge = parts.app.query_one("#entry", Horizontal)
        self._timer: Timer | None = None
        self._pause = _PAUSE
        self.line = ""

    def changed(self) -> None:
        """Be told that the text in the box, or what it would be sent to, is another; or that a turn has begun."""
        self._looks.forget(_KIND)
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._show("")
        if self._asked() is not None:
            self._timer = self._parts.app.set_timer(self._pause, self._look)

    def _asked(self) -> _Asked | None:
        """Return what there is to ask about now; None where that is nothing."""
        parts = self._parts
        text = parts.composer.text
        if not parts.turns.free:
            return None
        message = parts.editing.message
        if not text.strip():
            return None
        # What is held goes first, so nothing is known of what comes behind it; a command is sent nowhere.
        command = text.startswith("/") and not text.startswith("//")
        return None if message is None and (command or len(parts.pending)) else _Asked(text, message)

    def _look(self) -> None:
        self._timer = None
        asked, conversation = self._asked(), self._parts.turns.conversation
        if asked is None or conversation is None:
            return
        message = asked.message
        amends = message is not None and message.role != "user"
        if message is not None and (amends or asked.text == shown(message.content)):
            # Sent as it is it would cost nothing, and say nothing new; what a change costs is of interest.
            self._looks.ask(_KIND, conversation.checkpoints, self._told_of_edit(message))
            return
        of = None if message is None else message.id
        self._looks.ask(_KIND, lambda: conversation.foresee(self._sent(asked), of), self._told(asked))

    def _sent(self, asked: _Asked) -> str:
        """Return the message that the text would be, files put in; on the looks' thread."""
        aids = self._parts.services.aids
        if aids is None:
            slashes = asked.message is None and asked.text.startswith("//")
            return asked.text[1:] if slashes else asked.text
        if asked.message is not None:
            return aids.edited(asked.text, asked.message.content).text
        outgoing = aids.outgoing(asked.text, ())
        return asked.text if outgoing is None else outgoing.text

    def _told(self, asked: _Asked) -> Callable[[Seen[Foreseen]], None]:
        def take(seen: Seen[Foreseen]) -> None:
            self._took(seen.took)
            if seen.found is not None and seen.found.prompt_tokens and self._parts.turns.free:
                # Why an edit leaves what is stored needs no words.
                found, width = seen.found, self._edge.outer_size.width - _EDGE
                line = foreseen_line(found, why=asked.message is None)
                self._show(line if len(line) <= width else foreseen_line(found, why=False))

        return take

    def _told_of_edit(self, message: Message) -> Callable[[Seen[Checkpoints]], None]:
        def take(seen: Seen[Checkpoints]) -> None:
            self._took(seen.took)
            cost = None if seen.found is None else cost_of(seen.found, message.id)
            if cost is not None and self._parts.turns.free:
                self._show(edit_line(cost) if message.role == "user" else amend_line(cost))

        return take

    def _took(self, seconds: float) -> None:
        self._pause = max(_PAUSE, _SHARE * seconds)

    def _show(self, line: str) -> None:
        if line == self.line:
            return
        self.line = line
        width = self._edge.outer_size.width - _EDGE
        told = Content.styled(f" {visible_line(line, max(1, width))} ", "dim") if line else None
        self._edge.border_title = told
