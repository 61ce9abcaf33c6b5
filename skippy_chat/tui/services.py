"""What the app needs of the world, passed in: the command line gives the real thing, tests a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.agent.protocol import Conversation, Held, Stored
from skippy_chat.completions.aids import TypingAids
from skippy_chat.errors import SessionLocked
from skippy_chat.notifying import Notifier
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.sessions import Choice
from skippy_chat.tui.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Services:
    """The stored sessions, how to open one, how to read one that another process writes, and clocks.

    ``monotonic`` gives seconds, ``now_ms`` milliseconds since the epoch. ``open``, ``look`` and ``read`` run in a
    thread of their own. ``read`` gives a stored session, by its id, to be shown while its model is loaded.
    ``working_folder`` is where exports go. ``environment`` says which editor there is, and which clipboard.
    ``aids`` help to type; without them a text is sent as it stands. ``notifier`` makes what tells through the terminal
    that an answer is there, from what writes to it. ``end`` is called when the last conversation was closed.
    """

    folder: str
    shelf: Shelf
    open: Callable[[Choice, OnProgress], Conversation]
    look: Callable[[SessionLocked], Held]
    monotonic: Callable[[], float]
    now_ms: Callable[[], int]
    working_folder: Path
    preferences: Preferences = field(default_factory=Preferences)
    environment: Mapping[str, str] = field(default_factory=dict)
    aids: TypingAids | None = None
    end: Callable[[], object] | None = None
    read: Callable[[str], Stored] | None = None
    notifier: Callable[[Callable[[str], object]], Notifier] | None = None
