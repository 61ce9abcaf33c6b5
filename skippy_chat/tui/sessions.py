"""The picker: this folder's recent sessions, a new one on top.

Invariant: no letter is a command here, because people type before they look: what they type goes on to the composer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.agent.protocol import Fork
from skippy_chat.chat.session_rows import Overview
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.display import one_line
from skippy_chat.wording import plural

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Choice:
    """Which session to open: an existing one's id, a new one under ``name`` (empty: without a name), or a ``fork``.

    ``changes`` are settings that it keeps from now on, as another model.
    """

    session: str | None = None
    name: str = ""
    fork: Fork | None = None
    changes: Mapping[str, object] = field(default_factory=dict)


class SessionPicker(ModalScreen[Choice]):
    """Returns the choice; Escape, Ctrl-C and Ctrl-D leave the program."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+d", "app.leave", "Leave", priority=True),
    ]

    def __init__(self, overviews: Sequence[Overview], folder: str, now_ms: int, composer: Composer) -> None:
        super().__init__()
        self._overviews = overviews
        self._folder = folder
        self._now_ms = now_ms
        self._composer = composer

    def compose(self) -> ComposeResult:
        """Lay out a title, the list, and the keys."""
        with Vertical(id="picker"):
            title = Static(Content.assemble(("Sessions of ", "bold"), (one_line(self._folder, 200), "dim")))
            yield title
            options = [Option(Content.styled("New session", "bold"))]
            options += [Option(_told(each, self._now_ms)) for each in self._overviews]
            yield OptionList(*options, markup=False)
            yield Static(
                Content.styled("Enter opens · Esc leaves · what you type waits for the session", "dim")
            )
            yield Static(id="draft", markup=False)

    def on_mount(self) -> None:
        """Show what was typed before."""
        self.typed()

    def typed(self) -> None:
        """Show what waits in the composer."""
        text = self._composer.text
        draft = self.query_one("#draft", Static)
        draft.display = bool(text)
        draft.update(Content.assemble(("» ", "bold $text-primary"), one_line(text, 300)))

    def on_key(self, event: events.Key) -> None:
        """Hand what is typed to the composer; in its own queue, so that the order stays."""
        if event.is_printable or event.key == "backspace":
            event.stop()
            self._composer.post_message(events.Key(event.key, event.character))

    def on_paste(self, event: events.Paste) -> None:
        """Hand a paste to the composer."""
        event.stop()
        self._composer.post_message(events.Paste(event.text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen session."""
        event.stop()
        at = event.option_index
        self.dismiss(Choice(self._overviews[at - 1].session.id) if at else Choice())


def _told(overview: Overview, now_ms: int) -> Content:
    session = overview.session
    name = session.title or session.made_title or overview.opening or session.id
    facts = f"{age(now_ms - session.updated)} · {plural(overview.messages, 'message')} · {session.model}"
    return Content.assemble(one_line(name, 120), "\n", (f"  {one_line(facts, 160)}", "dim"))


def age(milliseconds: int) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    seconds = max(0, milliseconds // 1000)
    if seconds < _MINUTE:
        return "just now"
    for size, word, below in ((_MINUTE, "minute", _HOUR), (_HOUR, "hour", _DAY), (_DAY, "day", 0)):
        if not below or seconds < below:
            return f"{plural(seconds // size, word)} ago"
    raise AssertionError(seconds)
