"""What a slash command and a feature of the app are made of: each feature brings its commands, keys and listeners.

Invariant: a feature knows the app only through ``Parts``; the app knows features only through ``features.FEATURES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from textual.app import App

from skippy_chat.agent.protocol import Conversation
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.editing import Editing
from skippy_chat.tui.opening import Opening
from skippy_chat.tui.pending import Pending
from skippy_chat.tui.services import Services
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript
from skippy_chat.tui.turns import Turns


@dataclass(frozen=True, slots=True)
class Parts:
    """What features are given of the app.

    The lists take functions that are called, in the app's own thread: ``opened`` when a conversation was opened,
    ``typed`` when the text in the box has changed, ``settled`` when a turn, a switch or another act is over.
    """

    app: App[int]
    transcript: Transcript
    composer: Composer
    pending: Pending
    editing: Editing
    turns: Turns
    bar: StatusBar
    services: Services
    show: Callable[[str, str], object]
    opening: Opening
    opened: list[Callable[[Conversation], object]] = field(default_factory=list)
    typed: list[Callable[[], object]] = field(default_factory=list)
    settled: list[Callable[[], object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AppCommand:
    """A slash command of the app.

    ``usage`` shows its arguments; without any it takes none. ``needs`` says when it may be run: at any time, with an
    ``open`` conversation, or with one that is ``free`` of turns. ``run`` gets what was typed behind the name; False,
    with a hint in the status bar, puts the text back into the box. ``key`` runs it without arguments; several
    have commas between them. ``words`` are offered for its first argument, beside those that ``usage`` names.
    """

    name: str
    does: str
    run: Callable[[Parts, str], bool | None]
    usage: str = ""
    needs: Literal["nothing", "open", "free"] = "nothing"
    key: str = ""
    other_names: Sequence[str] = ()
    words: Sequence[str] = ()

    @property
    def shown(self) -> str:
        """The name as it is typed, with its arguments."""
        return f"/{self.name} {self.usage}".rstrip()


@dataclass(frozen=True, slots=True)
class Feature:
    """Commands that belong together, and what is to be done once when the app has started."""

    commands: Sequence[AppCommand] = ()
    install: Callable[[Parts], Any] | None = None
