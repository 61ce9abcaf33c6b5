"""What the app needs of the world, passed in: the command line gives the real thing, tests a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.agent.protocol import Conversation, Held
from skippy_chat.chat.session_rows import Overview
from skippy_chat.errors import SessionLocked
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.sessions import Choice


@dataclass(frozen=True, slots=True)
class Services:
    """Sessions to choose from, how to open one, how to read one that another process writes, and clocks.

    ``monotonic`` gives seconds, ``now_ms`` milliseconds since the epoch. ``open`` and ``look`` run in a thread of their
    own. ``working_folder`` is where exports go.
    """

    folder: str
    sessions: Callable[[], Sequence[Overview]]
    open: Callable[[Choice, OnProgress], Conversation]
    look: Callable[[SessionLocked], Held]
    monotonic: Callable[[], float]
    now_ms: Callable[[], int]
    working_folder: Path
    preferences: Preferences = field(default_factory=Preferences)
