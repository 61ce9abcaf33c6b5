"""A line to type in, which acts on its keys in the order in which they were pressed.

Textual runs a key's binding after the letters that were typed behind it: fast typing would be deleted by a Backspace
that came before it.

Invariant: what stands in the line is what the keys say, however fast they come.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.suggester import SuggestFromList
from textual.widgets import Input

_EDITING = {
    key.strip(): binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
    if key.strip() not in ("ctrl+c", "ctrl+d")
}


class Entry(Input):
    """An ``Input`` in which Up and Down go through the words that fit, if there are such."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id, compact=True, select_on_focus=False)
        self._words: Sequence[str] = ()

    def begin(self, text: str, words: Sequence[str]) -> None:
        """Put a text into the line, to be changed; ``words`` are offered."""
        self._words = words
        self.suggester = SuggestFromList(words) if words else None
        self.value = text
        self.cursor_position = len(text)
        self.focus()

    async def _on_key(self, event: events.Key) -> None:
        action = _EDITING.get(event.key)
        if event.key in ("up", "down"):
            event.stop()
            event.prevent_default()
            self._go(1 if event.key == "down" else -1)
        elif action is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)
        else:
            await super()._on_key(event)

    def _go(self, step: int) -> None:
        if not self._words:
            return
        at = self._words.index(self.value) + step if self.value in self._words else 0
        self.value = self._words[at % len(self._words)]
        self.cursor_position = len(self.value)
