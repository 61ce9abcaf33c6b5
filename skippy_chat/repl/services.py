"""What the REPL's commands need of the world beside the conversation: files, stored sessions, models, settings.

Invariant: commands reach nothing outside the conversation but through this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.clipboard import Copied, copied
from skippy_chat.text_editor import edited, editor_command


@dataclass(frozen=True, slots=True)
class Services:
    """``folder`` is where exports go; ``env`` are the variables by which an editor and a clipboard are found."""

    folder: Path = Path()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

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
