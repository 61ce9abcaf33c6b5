"""What the REPL's loop asks of a screen; a terminal and a pipe each answer in their own way.

Invariant: every method cleans what it is given, so no caller can forget to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from skippy_chat.interrupts import StopOnInterrupt


class Leave(Exception):
    """The person, or the end of the input, ends the chat."""


class Answer(Protocol):
    """An answer as it streams to the scrollback."""

    def text(self, piece: str) -> None:
        """Show more of the answer."""

    def reasoning(self, piece: str) -> None:
        """Show more of the reasoning, set apart from the answer."""

    def end(self) -> None:
        """Complete the last line."""


class Face(Protocol):
    """A screen for one conversation."""

    @property
    def sentences(self) -> bool:
        """Whether status is told in full sentences: for screen readers and pipes."""

    def ask(self, prefill: str = "") -> str:
        """Return what was typed: one message, or a command.

        Args:
            prefill: text to edit; submitting nothing then gives the empty string.

        Raises:
            Leave: the person leaves, or the input ended.
        """

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question; where nobody can answer, it is not asked, and the answer is no."""

    def remember(self, messages: Sequence[str]) -> None:
        """Offer these messages, oldest first, to the Up key."""

    def say(self, text: str) -> None:
        """Show a text of the program's own, which may quote anything."""

    def status(self, text: str) -> None:
        """Show a line about the turn, less loud than the answer."""

    def answer(self) -> Answer:
        """Begin an answer."""

    def busy(self, cancel: Callable[[], None]) -> AbstractContextManager[StopOnInterrupt]:
        """While entered, the stop keys call ``cancel``."""
