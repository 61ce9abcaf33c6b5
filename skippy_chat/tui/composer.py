"""Where the person types: several lines, one message; drafts that were cleared come back with Up.

Invariant: what stands in the box has passed the display boundary, so pasting a hostile text cannot reach the terminal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message as Posted
from textual.widgets import TextArea

from skippy_chat.tui.display import shown

_NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter"})

# What the app answers instead of the box.
_OVERRIDDEN = frozenset({"ctrl+c", "ctrl+d", "pageup", "pagedown"})
_EDITING = {
    key: binding.action
    for binding in TextArea.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
    if key not in _OVERRIDDEN
}


class Composer(TextArea):
    """Enter sends; Ctrl-J, Shift-Enter and Alt-Enter begin a new line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Not with priority: such a key would overtake the text typed just before it.
        Binding("ctrl+c", "app.interrupt", "Stop, clear, leave"),
        Binding("ctrl+d", "app.end_of_input", "Leave"),
        Binding("pageup,ctrl+pageup", "scroll('page_up')", "Page up"),
        Binding("pagedown,ctrl+pagedown", "scroll('page_down')", "Page down"),
    ]

    @dataclass
    class Submitted(Posted):
        """The person sends this text; it may be empty, and is not in the box any more."""

        text: str

    @dataclass
    class Typed(Posted):
        """A character was typed, at that moment of ``time.monotonic``."""

        at: float = field(default_factory=time.monotonic)

    @dataclass
    class Recalled(Posted):
        """Up was pressed where there is nothing above."""

    @dataclass
    class Scrolled(Posted):
        """The transcript should scroll: ``page_up``, ``page_down`` or ``end``."""

        how: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(
            id=id,
            soft_wrap=True,
            compact=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
        )
        self.cursor_blink = False  # a blink is a repaint, twice a second, while the model needs the processor
        self._draft = ""
        self.first: Callable[[str], bool] | None = None
        """Asked before a key has its usual meaning here; True when it had another one."""
        self.by_hand = False
        """Whether the text was last changed by keys, and not put here."""

    @property
    def cursor_offset(self) -> int:
        """Where the cursor stands, counted in characters of the text."""
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.text.split("\n")[:row]) + column

    def exchange(self, start: int, end: int, text: str) -> None:
        """Replace the characters ``[start, end)``, the cursor behind; it can be undone like typing."""
        self.by_hand = True
        places = (self._location(start), self._location(end))
        if result := self._replace_via_keyboard(shown(text), *places):
            self.move_cursor(result.end_location)

    def _location(self, offset: int) -> tuple[int, int]:
        before = self.text[:offset]
        return before.count("\n"), len(before) - (before.rfind("\n") + 1)

    def put(self, text: str) -> None:
        """Replace what is typed, the cursor at the end."""
        self.by_hand = False
        self.text = shown(text)
        self.move_cursor(self.document.end)

    def clear_draft(self) -> None:
        """Clear the box; Up brings the text back."""
        self._draft = self.text
        self.text = ""

    def take_draft(self) -> bool:
        """Put back what was cleared last; tell whether there was something."""
        draft, self._draft = self._draft, ""
        if draft:
            self.put(draft)
        return bool(draft)

    def action_submit(self) -> None:
        """Send what is typed; keys that come in one burst with this one are for the next text."""
        # Sent before the box is known to be empty, so that at no moment the text stands nowhere.
        self.post_message(self.Submitted(self.text))
        self.text = ""

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def action_cursor_up(self, select: bool = False) -> None:  # noqa: FBT001 - textual's signature
        """Move up; in an empty box, recall something."""
        if not self.text and not select:
            self.post_message(self.Recalled())
        else:
            super().action_cursor_up(select)

    def action_cursor_line_end(self, select: bool = False) -> None:  # noqa: FBT001 - textual's signature
        """Move to the line's end; in an empty box, go to the transcript's."""
        if not self.text:
            self.post_message(self.Scrolled("end"))
        else:
            super().action_cursor_line_end(select)

    def action_scroll(self, how: str) -> None:
        """Scroll the transcript; the box itself is small."""
        self.post_message(self.Scrolled(how))

    async def _on_key(self, event: events.Key) -> None:
        """Act on editing keys at once: a binding would run after letters that were typed behind it."""
        if self.first is not None and self.first(event.key):
            event.prevent_default()
            event.stop()
            return
        self.by_hand = True
        action = "submit" if event.key == "enter" else "newline" if event.key in _NEWLINE_KEYS else None
        action = action or _EDITING.get(event.key)
        if event.is_printable:
            self.post_message(self.Typed())
        if action is not None:
            event.prevent_default()
            event.stop()
            await self.run_action(action)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        if result := self._replace_via_keyboard(shown(text), *self.selection):
            self.move_cursor(result.end_location)
