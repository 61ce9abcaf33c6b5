"""What the REPL's commands need of the world beside the conversation: files, stored sessions, models, settings.

Invariant: commands reach nothing outside the conversation but through this.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.clipboard import Copied, copied
from skippy_chat.completions.aids import Outgoing, TypingAids
from skippy_chat.completions.source import Offered, Offers, offers
from skippy_chat.errors import SkippyError
from skippy_chat.notifying import Notifier
from skippy_chat.repl.stored import StoredSessions
from skippy_chat.setting_table import PERSONA_NAME
from skippy_chat.text_editor import edited, editor_command

_NAME = re.compile(PERSONA_NAME)  # as prompts are called
_SPACE = re.compile(r"[ \t\r\n]+")  # no other control character ends a word


def command_typed(text: str) -> tuple[str, str]:
    """Return the word behind the slash of a text that begins with one, empty if there is none, and what follows."""
    word, *rest = _SPACE.split(text[1:], maxsplit=1)
    return word, rest[0].strip() if rest else ""


@dataclass(frozen=True, slots=True)
class Services:
    """``folder`` is where exports go; ``env`` are the variables by which an editor and a clipboard are found.

    ``aids`` know the workspace's files, the person's prompts, and what they typed; without them there is none of these.
    ``models`` gives a line for each model that is here, its name first; ``check_model`` raises ``SkippyError`` for a
    name that means none. ``notifier`` tells through the terminal that work is done; ``monotonic`` (seconds) times it.
    """

    stored: StoredSessions
    folder: Path = Path()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    aids: TypingAids | None = None
    models: Callable[[], Sequence[str]] = tuple
    check_model: Callable[[str], object] = str
    notifier: Notifier | None = None
    monotonic: Callable[[], float] = lambda: 0.0

    def tell(self, text: str, began: float) -> None:
        """Tell a person who may look elsewhere, where it is due after the work that ``began`` then."""
        if self.notifier is not None:
            self.notifier.tell(text, seconds=self.monotonic() - began, focused=None)

    def offers(self, text: str, cursor: int, commands: Sequence[Offered]) -> Offers | None:
        """Return what fits at an offset of a text; may look at the disk."""
        if self.aids is None:
            return offers(text, cursor, commands, lambda _typed: ())
        return self.aids.offers(text, cursor, commands)

    def prompts(self, taken: Collection[str]) -> Sequence[Offered]:
        """Return the person's own prompts, but those whose names are ``taken``."""
        return () if self.aids is None else self.aids.offered(taken)

    def prompts_told(self, taken: Collection[str]) -> str:
        """Return the text for /prompts; raises as ``outgoing``."""
        return "There are no prompts here." if self.aids is None else self.aids.prompts_told(taken)

    def outgoing(self, text: str, taken: Collection[str]) -> Outgoing | None:
        """Return the message that a typed text is; None where a word behind its slash is a command, or nothing.

        Raises:
            SkippyError: a prompt or a file that it names cannot be used; nothing is to be sent.
        """
        if text.startswith("/"):
            word, _ = command_typed(text)
            # With a second slash in it, it is a path, or text that begins with one.
            if "/" not in word and (self.aids is None or word in taken or not _NAME.fullmatch(word)):
                return None
        if self.aids is None:
            return Outgoing(text[1:] if text.startswith("//") else text)
        return self.aids.outgoing(text, taken)

    def edited(self, text: str, before: str = "") -> Outgoing:
        """Return the message that an edited text is; raises as ``outgoing``."""
        return Outgoing(text) if self.aids is None else self.aids.edited(text, before)

    def typed(self) -> Sequence[str]:
        """Return what was typed over all sessions, the oldest first; nothing where it cannot be read."""
        try:
            return () if self.aids is None else self.aids.typed.newest()
        except SkippyError:
            return ()

    def keep_typed(self, text: str) -> None:
        """Keep what a person typed, to be searched; a message counts more than its place in a search."""
        if self.aids is not None:
            with contextlib.suppress(SkippyError):
                self.aids.typed.add(text)

    def copy(self, text: str, what: str) -> Copied:
        """Copy a text, which is ``what``, as far as this can be done without the terminal."""
        return copied(text, what, self.env)

    @property
    def editor(self) -> Callable[[str], str]:
        """Let the person change a text in their editor, and return it; the terminal must be free.

        Raises:
            UsageError: there is none, or it failed; nothing that was written is lost.
        """
        command = editor_command(self.env)
        return lambda text: edited(text, command, self.env)
