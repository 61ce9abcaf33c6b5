"""What a conversation has to tell before its next answer.

Invariant: each thing is told once; what holds the cache back is told with every turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.agent.agents_file import TYPED, system_unused
from skippy_chat.chat.messages import Message
from skippy_chat.config import SAID_BY_PERSONA, Settings
from skippy_chat.events import Notice


class Untold:
    """Notices that wait for a turn."""

    def __init__(self, notices: Sequence[Notice], settings: Settings, system: str | None) -> None:
        """``notices`` are told with the first turn; ``system`` is the system prompt that new branches begin with."""
        self._first = tuple(notices)
        self._system = system
        # A system prompt that somebody typed for a session which has its own already.
        source = settings.sources.get("system", "")
        self._unused = source if source in TYPED or source.startswith(SAID_BY_PERSONA) else ""

    def take(self, branch: Sequence[Message], cache_notice: str) -> list[Notice]:
        """Return what a turn on this branch tells first."""
        told = [*self._first, *([Notice(level="warning", text=cache_notice)] if cache_notice else [])]
        self._first = ()
        begins = branch[0].role == "system" and branch[0].content == self._system
        if self._unused and not begins:
            told.append(system_unused(self._unused))
        self._unused = ""
        return told
