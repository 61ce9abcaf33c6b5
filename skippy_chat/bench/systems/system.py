"""What every compared system can do: answer a prompt, and go on after a restart with what it kept."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Protocol

from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.errors import SkippyError


class PeerFailed(SkippyError):
    """A compared program ended, hung, or refused a request."""

    code = "peer_failed"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: as a conversation, and as the ids that it is rendered to."""

    dialogue: Dialogue
    ids: array[int]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a system said of one prompt: tokens in it, tokens reused, and seconds until its first token was seen."""

    prompt: int
    reused: int
    first_token: float


class System(Protocol):
    """A system under comparison; ``name`` says what it is, ``command`` how it was started."""

    name: str
    command: str

    def ask(self, prompt: Prompt) -> Asked:
        """Answer a prompt greedily with a few tokens.

        Raises:
            SkippyError: it could not.
        """

    def keep(self) -> None:
        """Save what it can save, as a person would before ending it."""

    def restart(self) -> None:
        """End its process and start another on the same folders, with what was kept brought back as it can."""

    def close(self) -> None:
        """End it; safe to call twice."""
