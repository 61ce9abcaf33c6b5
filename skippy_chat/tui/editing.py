"""Editing a message that was sent: its text in the composer, the message marked, a draft kept for afterwards.

Invariant: an edit that is left, or changes nothing, asks nothing, and the draft it displaced comes back.
"""

from __future__ import annotations

from textual.widgets import Static

from skippy_chat.chat.messages import Message
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.display import shown
from skippy_chat.tui.transcript import Transcript

_BANNER = "Editing · Enter answers it anew, the old branch stays · Esc leaves it"
_AMENDING = "Editing {} · Enter stores your version · Esc leaves it"
_WHOSE = {"assistant": "what the model said", "tool": "what a tool gave"}


class Editing:
    """Which message is being edited, if any."""

    def __init__(self, composer: Composer, banner: Static, transcript: Transcript) -> None:
        self._composer = composer
        self._banner = banner
        self._transcript = transcript
        self.message: Message | None = None

    def begin(self, message: Message) -> None:
        """Put the message into the composer."""
        self.end()
        self._composer.clear_draft()
        self.message = message
        self._composer.put(message.content)
        self._composer.focus()
        whose = _WHOSE.get(message.role)
        self._banner.update(_BANNER if whose is None else _AMENDING.format(whose))
        self._banner.display = True
        if (view := self._transcript.go_to(message.id)) is not None:
            view.add_class("editing")
            self._transcript.reveal(view)

    def end(self) -> None:
        """Leave the message as it was, and bring the draft back."""
        if self.message is None:
            return
        if (view := self._transcript.find(self.message.id)) is not None:
            view.remove_class("editing")
        self.message = None
        self._banner.display = False
        self._composer.text = ""
        self._composer.take_draft()

    def finish(self, text: str) -> Message | None:
        """End with a new text; return the message it replaces, or None when nothing changed."""
        message, since = self.message, self._composer.text
        self.end()
        if since:
            self._composer.put(f"{self._composer.text}{since}")
        if message is None or not text.strip() or text == shown(message.content):
            return None
        return message
