"""The picker: this folder's sessions, a new one on top, those of other folders below; what is typed searches.

Invariant: no letter is a command here, because people type before they look. What they type stands in the composer, as
everywhere: it searches while the picker is open; a new session takes it along, and an existing one has it back with Up.
Nothing is ever sent by choosing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from skippy_chat.agent.protocol import Fork
from skippy_chat.chat.messages import Session
from skippy_chat.chat.searching import Found
from skippy_chat.chat.session_rows import Overview
from skippy_chat.errors import SessionLocked, SkippyError
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.display import one_line, visible_line
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.rows import Rows
from skippy_chat.tui.shelf import Shelf
from skippy_chat.wording import plural, written_by

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_NEW = "new"
_KEYS = "Ctrl-R renames · Ctrl-X deletes · Ctrl-F copies"
_HANDED_ON = frozenset({"backspace", "ctrl+u", "ctrl+w"})


@dataclass(frozen=True, slots=True)
class Choice:
    """Which session to open: an existing one's id, a new one under ``name`` (empty: without a name), or a ``fork``.

    ``changes`` are settings that it keeps from now on, as another model.
    """

    session: str | None = None
    name: str = ""
    fork: Fork | None = None
    changes: Mapping[str, object] = field(default_factory=dict)


Answer: TypeAlias = "Choice | Literal['stay', 'delete current']"


@dataclass(frozen=True, slots=True)
class Around:
    """Where a picker is opened: over which session (an id), if any, and which one was deleted just before."""

    current: str = ""
    deleted: Session | None = None
    can_stay: bool = False


class SessionPicker(Modal[Answer]):
    """Returns the choice; Escape stays, or leaves the program where there is nothing to stay with."""

    CSS = """
    #search { height: 1; margin-top: 1; }
    #rename { display: none; border: none; height: 1; padding: 0; background: $surface; }
    #told { display: none; color: $text-warning; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+d", "back", "Back", priority=True),
        Binding("ctrl+r,f2", "rename", "Rename", priority=True),
        Binding("ctrl+x,delete", "delete", "Delete", priority=True),
        Binding("ctrl+z", "restore", "Restore", priority=True),
        Binding("ctrl+f", "copy", "Copy", priority=True),
    ]

    def __init__(
        self,
        shelf: Shelf,
        folder: str,
        now_ms: int,
        composer: Composer,
        around: Around | None = None,
        found: Sequence[Found] | None = None,
    ) -> None:
        """``found`` is what there is when nothing is typed, if that is known already."""
        super().__init__()
        self._shelf = shelf
        self._folder = folder
        self._now_ms = now_ms
        self._composer = composer
        self._around = around or Around()
        self._deleted = self._around.deleted
        self._sessions: dict[str, Session] = {}
        self._names: dict[str, str] = {}
        self._first = found
        self._shown_for: str | None = None
        self._chosen_early = False
        self._renaming: Session | None = None

    def compose(self) -> ComposeResult:
        """Lay out a title, the search, the list, and the keys."""
        with Vertical(id="picker"):
            yield Static(Content.assemble(("Sessions of ", "bold"), (one_line(self._folder, 200), "dim")))
            yield Static(id="search", markup=False)
            yield Rows(markup=False)
            yield Static(id="told", markup=False)
            yield Input(id="rename", placeholder="Another name", max_length=200)
            leaves = "Esc goes back" if self._around.can_stay else "Esc leaves"
            yield Static(Content.styled(f"Enter opens · {leaves}\n{_KEYS}", "dim"), id="keys")

    def set_up(self) -> None:
        """Show what was typed before."""
        self._list = self.query_one(OptionList)
        self._list.focus()
        if self._first is not None and not self._composer.text:
            self._show("", self._first)
        if self._deleted is not None:
            self._tell_deleted(self._deleted)
        self.typed()

    # Searching

    def typed(self) -> None:
        """Search for what stands in the composer."""
        if not self.stands:
            return  # it looks itself once it stands
        text = self._composer.text
        line = (
            Content.assemble(("» ", "bold $text-primary"), one_line(text, 300))
            if text
            else Content.styled("» type to search titles and messages", "dim")
        )
        self.query_one("#search", Static).update(line)
        if text != self._shown_for:
            self._search(text)

    @work(thread=True, exclusive=True, group="search")
    def _search(self, text: str, then: str = "") -> None:
        """Look in a thread; ``then`` is the session to stand on afterwards."""
        error = ""
        found: Sequence[Found] = ()
        try:
            found = self._shelf.found(text)
        except SkippyError as failed:
            error = str(failed)
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show, text, found, then, error)

    def _show(self, text: str, found: Sequence[Found], then: str = "", error: str = "") -> None:
        if not self.stands:
            return
        self._shown_for = text
        self._sessions = {each.overview.session.id: each.overview.session for each in found}
        self._names |= {each.overview.session.id: _shown_name(each.overview) for each in found}
        here = [each for each in found if each.overview.session.folder == self._shelf.folder]
        others = [each for each in found if each.overview.session.folder != self._shelf.folder]
        new = (
            f"New session, with this text in the box: {one_line(text, 60)}" if text.strip() else "New session"
        )
        options = [Option(Content.styled(new, "bold"), _NEW)]
        options += [self._option(each) for each in here]
        if others:
            options.append(Option(Content.styled("Other folders", "bold dim"), disabled=True))
            options += [self._option(each, folder=True) for each in others]
        self._list.clear_options()
        self._list.add_options(options)
        self._stand_on(then or self._likeliest(text, found))
        if error:
            self._tell(error)
        if self._chosen_early:
            self._chosen_early = False
            self._list.action_select()

    def _likeliest(self, text: str, found: Sequence[Found]) -> str:
        """Return what Enter most likely means: of a search the first hit, within a session the one before."""
        others = [
            each.overview.session.id for each in found if each.overview.session.id != self._around.current
        ]
        return others[0] if others and (text.strip() or self._around.current) else _NEW

    def _stand_on(self, option: str) -> None:
        at = [each.id for each in self._list.options]
        self._list.highlighted = at.index(option) if option in at else 0

    def _option(self, found: Found, *, folder: bool = False) -> Option:
        overview, session = found.overview, found.overview.session
        name = _shown_name(overview)
        facts = [
            age(self._now_ms - session.updated),
            plural(overview.messages, "message"),
            Path(session.model).name,
        ]
        if session.id == self._around.current:
            facts.insert(0, "open now")
        if folder:
            facts.insert(0, session.folder)
        if overview.draft and not found.pieces:
            facts.append(f"not sent: {one_line(overview.draft, 60)}")
        parts: list[Content | str | tuple[str, str]] = [
            visible_line(name, 120),
            "\n",
            (f"  {one_line(' · '.join(facts), 200)}", "dim"),
        ]
        if found.pieces:
            parts += ["\n  ", *_snippet(found)]
        return Option(Content.assemble(*parts), session.id)

    # Choosing

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen session; what was typed meanwhile is searched for first."""
        event.stop()
        text = self._composer.text
        if text != self._shown_for:
            self._chosen_early = True
        elif event.option.id == _NEW:
            self.dismiss(Choice())
        elif event.option.id == self._around.current:
            self.dismiss("stay")
        elif event.option.id is not None:
            if text:
                self._composer.clear_draft()
            self.dismiss(Choice(event.option.id))

    def action_back(self) -> None:
        """Leave the renaming, or the picker."""
        if self._renaming is not None:
            self._end_renaming()
        elif self._around.can_stay:
            self.dismiss("stay")
        else:
            self.app.exit(0)

    def on_key(self, event: events.Key) -> None:
        """Hand what is typed to the composer; in its own queue, so that the order stays."""
        if self._renaming is None and (event.is_printable or event.key in _HANDED_ON):
            event.stop()
            self._composer.post_message(events.Key(event.key, event.character))

    def on_paste(self, event: events.Paste) -> None:
        """Hand a paste to the composer."""
        event.stop()
        if self._renaming is None:
            self._composer.post_message(events.Paste(event.text))

    # Naming, copying, deleting

    @property
    def _highlighted(self) -> Session | None:
        at = self._list.highlighted_option
        return None if at is None or at.id is None else self._sessions.get(at.id)

    def action_rename(self) -> None:
        """Ask for another name."""
        session = self._highlighted
        if session is None or self._renaming is not None:
            return
        if session.id == self._around.current:
            self._tell("This one is open: go back to it, and /rename TITLE.")
            return
        self._renaming = session
        field = self.query_one("#rename", Input)
        field.value = session.title
        field.display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the name that was typed."""
        event.stop()
        session, title = self._renaming, event.value
        self._end_renaming()
        if session is not None:
            self._act(lambda: self._shelf.rename(session.id, title), lambda named: f"It is {named.name} now.")

    def _end_renaming(self) -> None:
        self._renaming = None
        self.query_one("#rename", Input).display = False
        self._list.focus()

    def action_copy(self) -> None:
        """Copy the session's current branch into one of its own."""
        session = self._highlighted
        if session is not None and self._renaming is None:
            self._act(lambda: self._shelf.fork(session.id), lambda _: f"Copied {self._called(session)}.")

    def action_delete(self) -> None:
        """Delete the session; it can be restored."""
        session = self._highlighted
        if session is None or self._renaming is not None:
            return
        if session.id == self._around.current:
            self.dismiss("delete current")
        else:
            self._act(lambda: self._shelf.delete(session.id), self._tell_deleted, stay=False)

    def action_restore(self) -> None:
        """Restore what was deleted last."""
        session, self._deleted = self._deleted, None
        if session is not None and self._renaming is None:
            self._act(lambda: self._shelf.restore(session.id), lambda back: f"{self._called(back)} is back.")

    def _called(self, session: Session) -> str:
        name = session.title or self._names.get(session.id, session.label)
        return "the session" if name == session.id else visible_line(name, 60)

    def _tell_deleted(self, session: Session) -> str:
        self._deleted = session
        told = f"Deleted {self._called(session)}. Ctrl-Z restores it."
        self._tell(told)
        return told

    def _tell(self, text: str) -> None:
        if not self.stands:
            return
        told = self.query_one("#told", Static)
        told.display = bool(text)
        told.update(one_line(text, 300))

    @work(thread=True, group="act")
    def _act(self, act: Callable[[], Session], told: Callable[[Session], str], *, stay: bool = True) -> None:
        """Do something in a thread, tell it, and show the list as it is then."""
        try:
            session = act()
        except SessionLocked as locked:
            self.app.call_from_thread(self._tell, f"{written_by(locked.writer)} It stays.")
        except SkippyError as failed:
            self.app.call_from_thread(self._tell, str(failed))
        else:
            self.app.call_from_thread(lambda: self._acted(told(session), session.id if stay else ""))

    def _acted(self, told: str, stand_on: str) -> None:
        if self.stands:
            self._tell(told)
            self._search(self._composer.text, stand_on)


def _shown_name(overview: Overview) -> str:
    session = overview.session
    names = (session.title, session.made_title, overview.opening)
    return next((each for each in names if visible_line(each, 1)), session.id)


def _snippet(found: Found) -> list[tuple[str, str]]:
    pieces = ((_part(text), hit) for text, hit in found.pieces)
    return [(text, "bold $text-accent" if hit else "dim") for text, hit in pieces if text]


def _part(text: str) -> str:
    """Return a piece of foreign text without breaks; spaces at its ends stay."""
    clean = visible_line(text, 200)
    before, after = text[:1].isspace(), text[-1:].isspace() and bool(clean)
    return f"{' ' if before else ''}{clean}{' ' if after else ''}"


def age(milliseconds: int) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    seconds = max(0, milliseconds // 1000)
    if seconds < _MINUTE:
        return "just now"
    for size, word, below in ((_MINUTE, "minute", _HOUR), (_HOUR, "hour", _DAY), (_DAY, "day", 0)):
        if not below or seconds < below:
            return f"{plural(seconds // size, word)} ago"
    raise AssertionError(seconds)
