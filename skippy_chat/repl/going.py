"""Which conversation the REPL opens next, when a command leaves the one that is open.

Invariant: a conversation is closed before the next one is opened, so a session is never written twice at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skippy_chat.agent.protocol import Fork


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """Open a conversation: the session that was asked for or, if there is one, a ``fork``, or ``session`` (an id).

    ``new`` begins a session, called ``title`` if that is given. ``changes`` are settings that it keeps from now on.
    ``text`` is sent first; ``code`` is the exit code that is due for what was refused so far, if nothing worse happens.
    """

    fork: Fork | None = None
    session: str | None = None
    new: bool = False
    title: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    code: int = 0
