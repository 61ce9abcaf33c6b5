"""The transcript: a window on the branch, at most a couple of hundred messages of it mounted at once.

Invariant: what is mounted is one unbroken stretch of the branch, and it reaches the branch's end while following;
paging at an edge keeps what the person is looking at where it is. What a running turn adds stays mounted behind the
stretch, and shows where that reaches the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from textual.containers import VerticalScroll

from skippy_chat.chat.messages import Message
from skippy_chat.tui.answer import AnswerView
from skippy_chat.tui.bridge import Branch
from skippy_chat.tui.card import ToolCard
from skippy_chat.tui.display import shown
from skippy_chat.tui.message import Level, MessageView

FIRST = 60
PAGE = 40
LIMIT = 160
_LAYOUTS = 20
# Laying out a page of messages takes longer than a key may: it is done before it is needed.
_SCREENS_AHEAD = 2


@dataclass(slots=True)
class _Place:
    """A message on the screen: how far its top is from the screen's, and from the transcript's."""

    view: MessageView
    row: int
    at: int


class Transcript(VerticalScroll, can_focus=False, inherit_bindings=False):
    """Messages, oldest on top; it follows the end until somebody scrolls up."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._branch = Branch()
        self._top = 0
        self._bottom = 0
        self._views: list[MessageView] = []
        self._paging = False
        self._page_asked = False
        self._holding: _Place | None = None
        self._move = 0  # a move that waits for a layout is dropped when another was asked for meanwhile
        self._late: dict[str, list[tuple[Level, str]]] = {}
        self._before: list[str] = []
        self._leaf = ""

    def on_mount(self) -> None:
        """Follow the end from the start."""
        self.anchor()

    @property
    def views(self) -> tuple[MessageView, ...]:
        """The mounted messages, oldest first."""
        return tuple(self._views)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch as it is stored, root first; what a running turn adds is not in it yet."""
        return self._branch.messages

    @property
    def following(self) -> bool:
        """Whether new text scrolls into view."""
        return self.is_vertical_scroll_end

    def show(self, branch: Branch) -> None:
        """Show a branch; messages that are on the screen already stay what they are."""
        at_end = self._at_end
        if not at_end:
            self._drop(self._live)  # stored by now, and mounted again where the window reaches the end
        self._remember(branch)
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
            self._add_stored(len(branch.messages))
            self._trim_top()

    def take_before(self) -> str | None:
        """Return the last message of the branch that was shown before this one, which is gone back to now."""
        here = {each.id for each in self._branch.messages}
        while self._before:
            if (leaf := self._before.pop()) not in here:
                self._leaf = ""
                return leaf
        return None

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
        self._move += 1
        self._paging = False
        if not self._at_end:
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

    def go_to(self, message: str) -> MessageView | None:
        """Mount the window around a message of the branch where it is not in it; None when the branch has it not."""
        if (view := self.find(message)) is not None:
            return view
        at = next((at for at, each in enumerate(self._branch.messages) if each.id == message), None)
        if at is None:
            return None
        self.release_anchor()
        self._window(max(0, at - PAGE), min(len(self._branch.messages), at + PAGE))
        return self.find(message)

    def reveal(self, view: MessageView, place: Callable[[], int | None] = lambda: None) -> None:
        """Scroll to a mounted message: its beginning, or the row that ``place`` gives, and pause following.

        ``place`` is asked once the message has been laid out.
        """
        move = self._begin_move()
        self.release_anchor()

        def scroll(tries: int = _LAYOUTS) -> None:
            if move != self._move:
                return
            if tries and _is_not_laid_out(view):
                self.call_after_refresh(scroll, tries - 1)
                return
            self._paging = False
            if not view.is_attached:
                return
            region, row = view.virtual_region, place()
            if row is None:
                seen = self.scroll_y <= region.y and region.bottom <= self.scroll_y + self.size.height
                where = region.y - 1
            else:
                at = region.y + row
                seen = self.scroll_y <= at < self.scroll_y + self.size.height
                where = at - self.size.height // 3
            if not seen:
                self.scroll_to(y=max(0, where), animate=False, immediate=True, force=True)
            self.release_anchor()
            if self._at_end and self.is_vertical_scroll_end:
                self.anchor()

        self.call_after_refresh(scroll)

    def note(self, level: Level, text: str) -> bool:
        """Put a note under the branch's last message, now or when it is mounted; False when there is no message."""
        if self._views and self._at_end:
            self._views[-1].note(level, text)
        elif self._branch.messages:
            self._late.setdefault(self._branch.leaf, []).append((level, text))
        else:
            return False
        return True

    @property
    def in_sight(self) -> MessageView | None:
        """The first message on the screen."""
        held = self._held()
        return held.view if held is not None else None

    @property
    def last_in_sight(self) -> MessageView | None:
        """The last message on the screen."""
        end = self.scroll_y + self.size.height
        seen = [view for view in self._views if view.display and view.virtual_region.y < end]
        return seen[-1] if seen else None

    @property
    def _at_end(self) -> bool:
        return self._bottom >= len(self._branch.messages)

    @property
    def _live(self) -> list[MessageView]:
        """What a turn has added that is not in the branch yet."""
        return self._views[self._bottom - self._top :]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Page in more of the branch near the edges of the window, once what was scrolled to has been painted."""
        super().watch_scroll_y(old_value, new_value)
        held = self._holding if self._paging else None
        if held is not None and held.view.virtual_region.y == held.at:
            # The person scrolls on while a page comes: it is not laid out yet, so this is not the page's doing.
            held.row -= round(new_value) - round(old_value)
        if not (self._paging or self._page_asked) and self._edge_wanted(new_value - old_value):
            self._page_asked = True
            self.call_after_refresh(self._page_in, new_value - old_value, self._move)

    def _edge_wanted(self, moved: float) -> bool:
        near = _SCREENS_AHEAD * self.size.height
        if moved < 0:
            return self.scroll_y <= near and self._top > 0
        return moved > 0 and self.max_scroll_y - self.scroll_y <= near and not self._at_end

    def _page_in(self, moved: float, move: int) -> None:
        self._page_asked = False
        if move != self._move or self._paging:
            return
        if self._edge_wanted(moved):  # the branch may be another by now
            if moved < 0:
                self._page_up()
            else:
                self._page_down()

    def _page_up(self) -> None:
        top = max(0, self._top - PAGE)
        new = self._built(self._branch.messages[top : self._top])
        surplus = max(0, self._bottom - top - LIMIT)
        # Where the end is followed, to put back a place would end that: a branch that became short moves up, too.
        held = None if self._at_end and self.following else self._held()
        if surplus:
            end = self._bottom - self._top
            self._drop(self._views[max(0, end - surplus) : end])
            self._bottom -= surplus
        self._top = top
        first = self._views[0] if self._views else None
        self._views[:0] = new
        self.mount_all(new, before=first)
        self._show_live()
        self._hold(held)

    def _page_down(self) -> None:
        bottom = min(len(self._branch.messages), self._bottom + PAGE)
        held = self._held()
        self._add_stored(bottom)
        self._trim_top()
        self._hold(held)

    def _add_stored(self, bottom: int) -> None:
        """Mount the branch's messages from the window's end up to ``bottom``, before what a turn has added."""
        new = self._built(self._branch.messages[self._bottom : bottom])
        live = self._live
        at = len(self._views) - len(live)
        self._views[at:at] = new
        self._bottom = bottom
        if new:
            self.mount_all(new, before=live[0] if live else None)
        self._show_live()

    def _show_live(self) -> None:
        """Show what a turn has added where the window reaches the branch's end, and hide it elsewhere."""
        for view in self._live:
            view.show_here(self._at_end)

    def _trim_top(self) -> None:
        surplus = max(0, self._bottom - self._top - LIMIT)
        self._drop(self._views[:surplus])
        self._top += surplus

    def _remember(self, branch: Branch) -> None:
        """Keep where the branch ended that another one takes the place of."""
        sessions = {each.session for each in (*branch.messages[:1], *self._branch.messages[:1])}
        if len(sessions) > 1:
            self._before.clear()
            self._leaf = ""
        if self._leaf and all(each.id != self._leaf for each in branch.messages):
            self._before.append(self._leaf)
        self._leaf = branch.leaf

    def _kept(self, branch: Branch) -> int:
        """Return how many of the mounted messages, from the first on, are this branch's; new ones find their place."""
        stored = branch.messages[self._top :]
        kept = 0
        for view, message in zip(self._views, stored, strict=False):
            if view.message_id not in ("", message.id) or view.role != message.role:
                break
            kept += 1
        return kept

    def _held(self) -> _Place | None:
        """Return where the first message on the screen is."""
        for view in self._views:
            region = view.virtual_region
            if region.bottom > self.scroll_y:
                return _Place(view, region.y - round(self.scroll_y), region.y)
        return None

    def _begin_move(self) -> int:
        """Begin a move that ends after a layout; it is this one as long as ``_move`` stays what is returned."""
        self._paging = True
        self._holding = None
        self._move += 1
        return self._move

    def _hold(self, held: _Place | None) -> None:
        move = self._begin_move()
        self._holding = held

        def put_back(tries: int = _LAYOUTS) -> None:
            if move != self._move:
                return
            if tries and any(_is_not_laid_out(view) for view in self._views):
                self.call_after_refresh(put_back, tries - 1)
                return
            if held is not None and held.view.is_attached:
                y = held.view.virtual_region.y - held.row
                self.scroll_to(y=y, animate=False, immediate=True, force=True)
            self._paging = False

        self.call_after_refresh(put_back)

    def _show_end(self) -> None:
        end = len(self._branch.messages)
        self._window(max(0, end - FIRST), end)

    def _window(self, top: int, bottom: int) -> None:
        """Mount this stretch of the branch instead of what was mounted of it."""
        self._drop(self._views[: self._bottom - self._top])
        self._top = self._bottom = top
        self._add_stored(bottom)

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
            for level, text in self._late.pop(message.id, ()):
                view.note(level, text)
            views.append(view)
        return views

    def _settle(self, view: MessageView, message: Message) -> None:
        branch = self._branch
        view.settle(message, branch.versions.get(message.id, ()), branch.calls.get(message.id, ()))

    def _add(self, views: list[MessageView]) -> None:
        self._views += views
        for view in views:
            view.show_here(self._at_end)
        if views:
            self.mount_all(views)

    def _drop(self, views: list[MessageView]) -> None:
        gone = set(views)
        self._views = [view for view in self._views if view not in gone]
        if gone:
            self.remove_children(list(gone))


def _is_not_laid_out(view: MessageView) -> bool:
    """Tell whether a message is mounted and has no place yet."""
    return view.is_attached and view.display and not view.virtual_region


def _view_of(message: Message) -> MessageView:
    if message.role == "assistant":
        return AnswerView()
    return ToolCard() if message.role == "tool" else MessageView(message.role)
