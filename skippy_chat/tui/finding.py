"""Finding words in the transcript: a line over the box, the places marked, and one of them looked at.

The whole branch is searched, also what is not mounted; what a running turn adds comes in when it has ended.
Invariant: the focus is in the line until it is closed, so that no key that is typed there means anything else.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from skippy_chat.text.folding import fold
from skippy_chat.text_search import Place, Searched
from skippy_chat.tui.approval import ApprovalPanel
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.display import one_line
from skippy_chat.tui.message import MessageView

_LONGEST = 2000
_KEYS = "Enter, Up above · Down below · Esc to the message"


class _Words(Input):
    """The words that are sought."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(one_line(event.text, _LONGEST))


class FindBar(Horizontal):
    """Searches while the words are typed; the place looked at first is the one nearest above what is in sight."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,up", "step(-1)", "The place above", priority=True),
        Binding("down", "step(1)", "The place below", priority=True),
        Binding("pageup", "app.page(-1)", "Page up"),
        Binding("pagedown", "app.page(1)", "Page down"),
        Binding("escape,ctrl+c", "leave", "To the message", priority=True),
    ]

    def __init__(self, parts: Parts) -> None:
        super().__init__(id="find")
        self._parts = parts
        self._words = ""
        self._searched: Searched | None = None
        self._places: list[Place] = []
        self._at = -1
        self._unfolded: MessageView | None = None
        self.display = False  # mounted all the same, so that what is typed behind the key goes here at once

    def compose(self) -> ComposeResult:
        """Lay out the words, the count and the keys."""
        yield Static(Content.styled("find ", "bold"), markup=False)
        yield _Words(id="find-words", compact=True, select_on_focus=False)
        yield Static(id="find-count", markup=False)

    def open(self, words: str) -> None:
        """Show it, take the focus, and look for words."""
        self._words = one_line(words, _LONGEST)
        self._searched = Searched(self._parts.transcript.messages)
        self.display = True
        line = self.query_one(_Words)
        with self.prevent(Input.Changed):
            line.value = self._words
        line.cursor_position = len(self._words)
        self.screen.set_focus(line)
        self.seek()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for what is typed now."""
        event.stop()
        if event.value != self._words:
            self._words = event.value
            self.seek()

    def again(self) -> None:
        """Look through the branch as it is now."""
        if self._searched is None:
            return
        self._searched = Searched(self._parts.transcript.messages)
        looked_at = self._places[self._at] if 0 <= self._at < len(self._places) else None
        self._places = self._searched.places(self._words)
        self._at = self._places.index(looked_at) if looked_at in self._places else -1
        self._mark()
        self._tell()

    def seek(self) -> None:
        """Look for the words, and go to the place nearest above the end of what is in sight."""
        if self._searched is None:
            return
        self._places = self._searched.places(self._words)
        self._at = self._nearest()
        self._mark()
        self._show()

    def action_step(self, step: int) -> None:
        """Go to the place above (-1) or below (1); past the last one to the first."""
        if self._places:
            self._at = (self._at + step) % len(self._places) if self._at >= 0 else self._nearest()
            self._show()

    def action_leave(self) -> None:
        """Close it; the message that was found has the focus then, or else the box."""
        transcript = self._parts.transcript
        view = transcript.find(self._places[self._at].message) if self._at >= 0 else None
        self._mark(off=True)
        self._searched = self._unfolded = None
        self._places, self._at = [], -1
        # At once: a hidden widget that has the focus would give it to its neighbour, which may be a question.
        self.screen.set_focus(view or self._parts.composer, scroll_visible=False)
        self.display = False
        self.app.screen_stack[0].query_one(ApprovalPanel).typed()

    def _nearest(self) -> int:
        """Return the last place at or above what is in sight; the first one where none is."""
        ids = {each.id: at for at, each in enumerate(self._parts.transcript.messages)}
        last = self._parts.transcript.last_in_sight
        until = ids.get(last.message_id, len(ids)) if last is not None else len(ids)
        above = [at for at, place in enumerate(self._places) if ids[place.message] <= until]
        return above[-1] if above else 0 if self._places else -1

    def _mark(self, *, off: bool = False) -> None:
        sought = "" if off else fold(self._words.strip())
        for view in self._parts.transcript.views:
            view.seek(sought)

    def _show(self) -> None:
        """Bring the place into sight: what is folded there unfolds while it is looked at."""
        self._tell()
        if self._at < 0:
            return
        place = self._places[self._at]
        transcript = self._parts.transcript
        view = transcript.go_to(place.message)
        if view is None:
            return
        before, self._unfolded = self._unfolded, None
        if before is not None and before is not view:
            before.unfold(False)
        if before is view or (not view.unfolded and self._is_folded(view)):
            view.unfold(True)
            self._unfolded = view
        self._mark()
        transcript.reveal(view, lambda: self._row(view))

    def _is_folded(self, view: MessageView) -> bool:
        """Tell whether some of the places of a message may be folded away."""
        parts = {each.part for each in self._places if each.message == view.message_id}
        return view.role != "user" and (view.role != "assistant" or "aside" in parts)

    def _row(self, view: MessageView) -> int | None:
        """Return the row of the place that is looked at, as near as what shows allows."""
        if self._at < 0 or not view.is_attached:
            return None
        here = [at for at, each in enumerate(self._places) if each.message == view.message_id]
        shown = view.seek(fold(self._words.strip()))
        if not shown or self._at not in here:
            return None
        number = here.index(self._at)
        if len(shown) != len(here):  # emphasis and links do not show as they were written
            number = min(len(shown) - 1, number)
        return view.look_at(*shown[number])

    def _tell(self) -> None:
        if not self._words.strip():
            told = _KEYS
        elif not self._places:
            told = "nothing found"
        else:
            told = f"{self._at + 1} of {len(self._places):,}" if self._at >= 0 else f"{len(self._places):,}"
            told += f" · {_KEYS}" if self.app.size.width > 2 * len(_KEYS) else ""
        self.query_one("#find-count", Static).update(Content.styled(told, "dim"))


def _find(parts: Parts, argument: str) -> bool:
    bar = parts.app.screen.query_one(FindBar)
    if bar.display:
        bar.action_step(-1)
        return True
    if not parts.transcript.messages:
        parts.bar.change(hint="There is nothing to look through yet.")
        return False
    bar.open(argument)
    return True


def _install(parts: Parts) -> None:
    bar = FindBar(parts)
    parts.app.screen.mount(bar, before=parts.app.screen.query_one("#entry"))
    parts.settled.append(bar.again)
    parts.opened.append(lambda _conversation: bar.again())


FINDING = Feature(
    (AppCommand("find", "find words in the whole transcript", _find, usage="[WORDS]", key="ctrl+f"),),
    _install,
)
