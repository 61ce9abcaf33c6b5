"""What the REPL's loop asks of a screen; a terminal and a pipe each answer in their own way.

Invariant: every method cleans what it is given, so no caller can forget to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from skippy_chat.completions.source import Offers
from skippy_chat.events import ApprovalNeeded, ToolCallDelta, ToolFinished, ToolOutput, ToolStarted
from skippy_chat.interrupts import StopOnInterrupt


class Leave(Exception):
    """The person, or the end of the input, ends the chat."""


class Stopped(Exception):
    """Instead of answering a question about a call, the person stops the turn."""


class Answer(Protocol):
    """An answer as it streams to the scrollback."""

    def text(self, piece: str) -> None:
        """Show more of the answer."""

    def reasoning(self, piece: str) -> None:
        """Show more of the reasoning, set apart from the answer."""

    def end(self) -> None:
        """Complete the last line."""


class Calls(Protocol):
    """A turn's calls of tools, each on lines of its own as it is written, runs and ends."""

    def delta(self, event: ToolCallDelta) -> int:
        """Show more of a call; once its line is full, return how many characters of arguments there are."""

    def asked(self, event: ApprovalNeeded) -> None:
        """Note that a person was shown all of a call, so that its diff need not be shown again."""

    def started(self, event: ToolStarted) -> None:
        """Show that a call runs, if its line was not shown already."""

    def output(self, event: ToolOutput) -> None:
        """Show some of what a call writes."""

    def finished(self, event: ToolFinished) -> None:
        """Show how a call ended."""

    def end(self) -> None:
        """Complete the last line."""


class Face(Protocol):
    """A screen for one conversation."""

    @property
    def sentences(self) -> bool:
        """Whether status is told in full sentences: for screen readers and pipes."""

    @property
    def can_ask(self) -> bool:
        """Whether somebody is there to answer questions, and sees them."""

    def offer(self, offers: Callable[[str, int], Offers | None]) -> None:
        """Complete what ``offers`` gives for a text and an offset in it; it may be asked from any thread."""

    def ask(self, prefill: str = "", *, draft: str = "") -> str:
        """Return what was typed: one message, or a command.

        Args:
            prefill: text to edit; submitting nothing then gives the empty string.
            draft: text that was typed and not sent, to begin with.

        Raises:
            Leave: the person leaves, or the input ended.
        """

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question; where nobody can answer, it is not asked, and the answer is no."""

    def choose(self, question: str) -> str:
        """Return the line typed to a question in the middle of a turn; nothing typed before it counts.

        Raises:
            Stopped: a stop key, or the end of the input, instead of an answer.
        """

    def foretell(self, foresee: Callable[[str], str]) -> None:
        """Show what ``foresee`` says of the next text that is asked for, as it is typed; it is asked in a thread."""

    def keep_drafts(self, keep: Callable[[str], object]) -> None:
        """Call ``keep`` with the text that is being typed, a moment after it has changed and when typing is cut off."""

    def remember(self, messages: Sequence[str]) -> None:
        """Offer these messages, oldest first, to the Up key."""

    def say(self, text: str) -> None:
        """Show a text of the program's own, which may quote anything."""

    def status(self, text: str) -> None:
        """Show a line about the turn, less loud than the answer."""

    @property
    def can_clip(self) -> bool:
        """Whether ``clip`` may be called: there is a terminal that is sent control sequences."""

    def clip(self, sequence: str) -> None:
        """Send the terminal what makes it take a text into its clipboard."""

    def quote(self, text: str) -> int:
        """Show foreign text complete, each row marked; return how many rows went out of sight above."""

    def answer(self) -> Answer:
        """Begin an answer."""

    def calls(self) -> Calls:
        """Begin to show a turn's calls."""

    def busy(self, cancel: Callable[[], None]) -> AbstractContextManager[StopOnInterrupt]:
        """While entered, the stop keys call ``cancel``."""
