"""Searching what was typed before, in all sessions and faces; what is taken goes into the box, and is not sent.

Invariant: looking happens in a thread, and what shows is what was found for the words that stand there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.errors import SkippyError
from skippy_chat.tui.display import shown, visible_line
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.rows import Rows
from skippy_chat.tui.sessions import age
from skippy_chat.typed_history import TypedHistory, TypedText
from skippy_chat.wording import plural

_SHOWN = 200
_NARROWEST = 30
_KEYS = "Enter takes it · Ctrl-X forgets it, Alt-X all of these · Esc closes"


class TypedSearch(Modal[str]):
    """Returns the text that was taken; Escape and Ctrl-C take none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+d", "dismiss_none", "Close", priority=True),
        Binding("up", "move('cursor_up')", "Up", priority=True),
        Binding("down", "move('cursor_down')", "Down", priority=True),
        Binding("pageup", "move('page_up')", "Page up", priority=True),
        Binding("pagedown", "move('page_down')", "Page down", priority=True),
        Binding("enter", "take", "Take", priority=True),
        Binding("ctrl+x", "forget", "Forget", priority=True),
        Binding("alt+x", "forget_all", "Forget all that were found", priority=True),
    ]

    def __init__(self, typed: TypedHistory, words: str, now_ms: Callable[[], int]) -> None:
        """``words`` are searched first."""
        super().__init__()
        self._typed = typed
        self._words = shown(words)
        self._now_ms = now_ms
        self._found: Sequence[TypedText] = ()
        self._doomed: Sequence[TypedText] = ()  # what Alt-X, pressed again, forgets

    def compose(self) -> ComposeResult:
        """Lay out the list, what is searched, and the keys."""
        with Vertical(id="typed-search"):
            yield Static(Content.styled("What you typed", "bold"), markup=False)
            yield Rows(markup=False)
            yield Static(id="typed-told", markup=False)
            yield Input(
                self._words, placeholder="words that stand in it", id="typed-words", select_on_focus=False
            )
            yield Static(Content.styled(_KEYS, "dim"), markup=False)

    def set_up(self) -> None:
        """Look at once."""
        self.query_one(OptionList).can_focus = False
        self.query_one(Input).focus()
        self._look()

    def on_resize(self) -> None:
        """Cut the texts to the width there is; at the start, none is known before."""
        self.call_after_refresh(self._list)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for other words."""
        event.stop()
        self._look()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the text that was clicked."""
        event.stop()
        self.dismiss(self._found[event.option_index].text)

    def action_move(self, how: str) -> None:
        """Move in the list."""
        getattr(self.query_one(OptionList), f"action_{how}")()

    def action_take(self) -> None:
        """Return the text that is highlighted; none where nothing was found."""
        found = self._highlighted()
        if found is not None:
            self.dismiss(found.text)

    def action_dismiss_none(self) -> None:
        """Close without a text."""
        self.dismiss(None)

    def action_forget(self) -> None:
        """Remove the highlighted text for good."""
        found = self._highlighted()
        if found is not None:
            self.run_worker(self._forget([found]), group="typed")

    def action_forget_all(self) -> None:
        """Remove all that were found for good, at the second time."""
        if not self._found:
            return
        if self._doomed == self._found:
            self.run_worker(self._forget(self._doomed), group="typed")
        else:
            self._doomed = self._found
            self._tell(f"Alt-X again forgets {_amount(self._found)} for good.")

    def _highlighted(self) -> TypedText | None:
        at = self.query_one(OptionList).highlighted
        return None if at is None or at >= len(self._found) else self._found[at]

    def _look(self) -> None:
        if self.stands:
            self.run_worker(self._find(self.query_one(Input).value), group="typed", exclusive=True)

    async def _forget(self, texts: Sequence[TypedText]) -> None:
        try:
            await asyncio.to_thread(self._typed.forget, *(each.text for each in texts))
        except SkippyError as error:
            self._tell(str(error))
            return
        if self.stands:
            await self._find(self.query_one(Input).value)

    async def _find(self, words: str) -> None:
        found: Sequence[TypedText] = ()
        trouble = ""
        try:
            found = await asyncio.to_thread(self._typed.search, words, _SHOWN)
        except SkippyError as error:
            trouble = str(error)
        if not self.stands:
            return
        self._found, self._doomed = found, ()
        self._list(stay=words == self._words)
        self._words = words
        if trouble:
            self._tell(trouble)
        elif found:
            self._tell(_amount(found))
        else:
            self._tell(
                "Nothing that was typed has these words." if words.strip() else "Nothing was kept yet."
            )

    def _list(self, *, stay: bool = True) -> None:
        """Put what was found into the list; ``stay`` with the highlight where it is."""
        if not self.stands:
            return
        options = self.query_one(OptionList)
        at = options.highlighted or 0
        options.clear_options()
        now = self._now_ms()
        width = max(_NARROWEST, options.size.width - 4)
        options.add_options([Option(_told(each, now, width)) for each in self._found])
        if self._found:
            options.highlighted = min(at, len(self._found) - 1) if stay else 0

    def _tell(self, text: str) -> None:
        if self.stands:
            self.query_one("#typed-told", Static).update(Content.styled(shown(text), "dim"))


def _amount(found: Sequence[TypedText]) -> str:
    return f"the newest {_SHOWN} texts" if len(found) == _SHOWN else plural(len(found), "text")


def _told(typed: TypedText, now_ms: int, width: int) -> Content:
    lines = typed.text.strip().count("\n")
    facts = age(now_ms - typed.at) + (f" · {plural(lines + 1, 'line')}" if lines else "")
    return Content.assemble(visible_line(typed.text, width - len(facts) - 2), (f"  {facts}", "dim"))
