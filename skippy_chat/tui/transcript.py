"""The transcript: a window on the branch, at most a couple of hundred messages of it mounted at once.

Invariant: what is mounted is one unbroken stretch of the branch, and it reaches the branch's end while following;
paging at an edge keeps what the person is looking at where it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from textual.containers import VerticalScroll
from textual.widget import Widget

from skippy_chat.chat.messages import Message
from skippy_chat.tui.answer import AnswerView
from skippy_chat.tui.bridge import Branch
from skippy_chat.tui.card import ToolCard
from skippy_chat.tui.display import shown
from skippy_chat.tui.message import MessageView

FIRST = 60
PAGE = 40
LIMIT = 160


class Transcript(VerticalScroll, can_focus=False):
    """Messages, oldest on top; it follows the end until somebody scrolls up."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._branch = Branch()
        self._top = 0
        self._bottom = 0
        self._views: list[MessageView] = []
        self._paging = False

    def on_mount(self) -> None:
        """Follow the end from the start."""
        self.anchor()

    @property
    def views(self) -> tuple[MessageView, ...]:
        """The mounted messages, oldest first."""
        return tuple(self._views)

    @property
    def following(self) -> bool:
        """Whether new text scrolls into view."""
        return self.is_vertical_scroll_end

    def show(self, branch: Branch) -> None:
        """Show a branch; messages that are on the screen already stay what they are."""
        at_end = self._bottom >= len(self._branch.messages)
        self._branch = branch
        self._drop(self._views[self._kept(branch) :])
        for number, view in enumerate(self._views):
            message = branch.messages[self._top + number]
            self._settle(view, message)
        self._bottom = self._top + len(self._views)
        missing = branch.messages[self._bottom :]
        if not self._views or (at_end and len(missing) > LIMIT):
            self._show_end()
        elif at_end:
            self._bottom = len(branch.messages)
            self._add(self._built(missing))
            self._trim_top()

    def cut(self, message: str | None) -> None:
        """Show the branch only up to before a message; for None, up to the last question, that one included."""
        messages = self._branch.messages
        end = len(messages)
        for number, each in enumerate(messages):
            if message is None and each.role == "user":
                end = number + 1
            elif each.id == message:
                end = number
        self._branch = replace(self._branch, messages=messages[:end])
        if self._top < end <= self._bottom:
            self._drop(self._views[end - self._top :])
            self._bottom = end
        else:
            self._show_end()

    def ask(self, text: str) -> MessageView:
        """Add the person's message, which is about to be stored; it takes the place of one that did not fit."""
        if self._branch.messages and self._branch.messages[-1].state == "failed":
            self.cut(self._branch.messages[-1].id)
        self.follow()
        view = MessageView("user")
        view.expect(shown(text))
        self._add([view])
        return view

    def answer(self) -> AnswerView:
        """Add an answer that is about to stream in."""
        view = AnswerView()
        self._add([view])
        return view

    def card(self) -> ToolCard:
        """Add a call that is about to be made."""
        view = ToolCard()
        self._add([view])
        return view

    def follow(self) -> None:
        """Go to the end and follow it again."""
        if self._bottom < len(self._branch.messages):
            self._show_end()
        self.anchor()
        self.scroll_end(animate=False)

    def page(self, step: int) -> None:
        """Scroll up (-1) or down (1) by a page."""
        if step < 0:
            self.scroll_page_up(animate=False)
        else:
            self.scroll_page_down(animate=False)

    def find(self, message: str) -> MessageView | None:
        """Return the mounted view of a message."""
        return next((view for view in self._views if view.message_id == message), None)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Page in more of the branch near the edges of the window."""
        super().watch_scroll_y(old_value, new_value)
        if self._paging:
            return
        near = self.size.height
        if new_value < old_value and new_value <= near and self._top > 0:
            self._page_up()
        elif (
            new_value > old_value
            and self.max_scroll_y - new_value <= near
            and self._bottom < len(self._branch.messages)
        ):
            self._page_down()

    def _page_up(self) -> None:
        live = sum(view.message is None for view in self._views)
        if live and len(self._views) >= 2 * LIMIT:
            return  # what streams stays mounted; the rest comes when it has ended
        top = max(0, self._top - PAGE)
        new = self._built(self._branch.messages[top : self._top])
        surplus = 0 if live else max(0, len(self._views) + len(new) - LIMIT)
        self._top = top
        held = self._held()
        if surplus:
            self._bottom -= surplus
            self._drop(self._views[-surplus:])
        first = self._views[0] if self._views else None
        self._views[:0] = new
        self.mount_all(new, before=first)
        self._hold(held)

    def _page_down(self) -> None:
        bottom = min(len(self._branch.messages), self._bottom + PAGE)
        new = self._built(self._branch.messages[self._bottom : bottom])
        self._bottom = bottom
        held = self._held()
        self._add(new)
        self._trim_top()
        self._hold(held)

    def _trim_top(self) -> None:
        surplus = max(0, len(self._views) - LIMIT)
        self._top += surplus
        self._drop(self._views[:surplus])

    def _kept(self, branch: Branch) -> int:
        """Return how many of the mounted messages, from the first on, are this branch's; new ones find their place."""
        stored = branch.messages[self._top :]
        kept = 0
        for view, message in zip(self._views, stored, strict=False):
            if view.message_id not in ("", message.id) or view.role != message.role:
                break
            kept += 1
        return kept

    def _held(self) -> tuple[Widget, int] | None:
        """Return a message on the screen and how far its top is from the screen's."""
        for view in self._views:
            region = view.virtual_region
            if region.bottom > self.scroll_y:
                return view, region.y - round(self.scroll_y)
        return None

    def _hold(self, held: tuple[Widget, int] | None) -> None:
        self._paging = True

        def put_back() -> None:
            if held is not None and held[0].is_attached:
                self.scroll_to(
                    y=held[0].virtual_region.y - held[1], animate=False, immediate=True, force=True
                )
            self._paging = False

        self.call_after_refresh(put_back)

    def _show_end(self) -> None:
        self._drop(self._views)
        self._bottom = len(self._branch.messages)
        self._top = max(0, self._bottom - FIRST)
        self._add(self._built(self._branch.messages[self._top :]))

    def unfold_newest(self) -> None:
        """Show what is folded away in what came after the last question, or fold it when it all shows."""
        asked = [number for number, view in enumerate(self._views) if view.role == "user"]
        views = self._views[asked[-1] if asked else 0 :]
        wanted = not all(view.unfolded for view in views if view.role in ("assistant", "tool"))
        for view in views:
            view.unfold(wanted)

    def _built(self, messages: Iterable[Message]) -> list[MessageView]:
        views: list[MessageView] = []
        for message in messages:
            view = _view_of(message)
            self._settle(view, message)
            views.append(view)
        return views

    def _settle(self, view: MessageView, message: Message) -> None:
        branch = self._branch
        view.settle(message, branch.versions.get(message.id, ()), branch.calls.get(message.id, ()))

    def _add(self, views: list[MessageView]) -> None:
        self._views += views
        if views:
            self.mount_all(views)

    def _drop(self, views: list[MessageView]) -> None:
        gone = set(views)
        self._views = [view for view in self._views if view not in gone]
        if gone:
            self.remove_children(list(gone))


def _view_of(message: Message) -> MessageView:
    if message.role == "assistant":
        return AnswerView()
    return ToolCard() if message.role == "tool" else MessageView(message.role)
