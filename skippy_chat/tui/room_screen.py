"""The choices where the context is full, or what fills it: said by how much, and what each way out gives.

Invariant: it only asks. Nothing is done by looking, each way says what stays as it is, and nothing is chosen by what
was meant for the box: whoever still types goes on typing there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.agent.room import Room
from skippy_chat.room_wording import larger_context, room_text
from skippy_chat.tui.display import visible
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.rows import Rows
from skippy_chat.wording import plural

QUIET = 0.5
"""Seconds without a key before one may choose."""

Way: TypeAlias = Literal["compact", "drop", "fork", "larger"]


@dataclass(frozen=True, slots=True)
class Ways:
    """What is known of the room there is; ``full`` is why the panel is shown, empty where it was asked for.

    ``refused``: a message that did not fit waits for what is chosen.
    """

    model: LoadedModel
    full: str = ""
    room: Room | None = None
    trouble: str = ""
    refused: bool = False

    def told(self) -> list[tuple[str, Way, str]]:
        """Return each way with its key and its words."""
        ways: list[tuple[str, Way, str]] = [
            ("c", "compact", "Compact: the model sums up the older turns, in a new branch; the old one stays")
        ]
        if self.room is None or self.room.droppable:
            about = "" if self.room is None else f", about {plural(self.room.droppable, 'token')}"
            ways.append(("d", "drop", f"Drop what tools gave in older turns{about}; the old branch stays"))
        ways.append(("f", "fork", "Fork: go on in a copy of this branch; this session stays as it is"))
        if self.larger is not None:
            ways.append(
                ("l", "larger", f"Larger context: {plural(self.larger, 'token')}, kept with the session")
            )
        return ways

    @property
    def larger(self) -> int | None:
        """The size of a larger context that would do, where the model has one."""
        return None if self.room is None else larger_context(self.room, self.model)

    def text(self) -> str:
        """Return what is said above the ways."""
        if self.room is not None:
            told = room_text(self.room)
        else:
            told = f"It cannot be counted: {self.trouble}" if self.trouble else "Counting …"
        if self.room is not None and self.larger is None:
            told += f"\n{_no_larger(self.model)}"
        # The figures say it, where the conversation is too long by them.
        full = "" if self.room is not None and self.room.over and self.refused else self.full
        return "\n".join(each for each in (full, told) if each)


class RoomScreen(Modal[Way | None]):
    """Returns the way that was chosen; None where things stay as they are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c,ctrl+d", "dismiss", "Close", priority=True),
        Binding("c", "choose('compact')", "Compact"),
        Binding("d", "choose('drop')", "Drop tool output"),
        Binding("f", "choose('fork')", "Fork"),
        Binding("l", "choose('larger')", "Larger context"),
    ]

    def __init__(self, ways: Ways) -> None:
        super().__init__()
        self.ways = ways
        self.typed = ""
        """What was typed before it could be meant for this screen; it closed then, and nothing was chosen."""
        self.listening = False

    def compose(self) -> ComposeResult:
        """Lay out title, what fills the context, the ways and the keys."""
        title = "The context is full" if self.ways.full else "Room in the context"
        keys = "Enter or a letter chooses · Esc " + (
            "puts the message back" if self.ways.refused else "closes"
        )
        with Vertical(classes="choosing"):
            yield Static(Content.styled(title, "bold"), markup=False)
            yield Static(id="room-text", markup=False)
            yield Rows(markup=False, id="room-ways")
            if self.ways.refused:
                after = "Your message is sent once there is room; after a fork it is in the box."
                yield Static(Content.styled(after, "dim"), markup=False)
            yield Static(Content.styled(keys, "dim"), markup=False)

    def set_up(self) -> None:
        """Show what is known so far."""
        self.put(self.ways)
        self.set_timer(QUIET, self._listen)

    def _listen(self) -> None:
        self.listening = True
        self.query_one(OptionList).focus()

    def on_key(self, event: events.Key) -> None:
        """Give way to somebody who still types."""
        if not self.listening:
            event.stop()
            event.prevent_default()
            if event.is_printable and event.character:
                self.typed += event.character
                self.dismiss(None)

    def put(self, ways: Ways) -> None:
        """Show what is known by now."""
        self.ways = ways
        if not self.stands:
            return
        self.query_one("#room-text", Static).update(Content(visible(ways.text())))
        options = self.query_one(OptionList)
        before = options.highlighted or 0
        options.clear_options()
        for key, way, words in ways.told():
            options.add_option(Option(Content.assemble((f"{key}  ", "bold"), words), id=way))
        options.highlighted = min(before, options.option_count - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the way."""
        event.stop()
        self.action_choose(str(event.option.id))

    def action_choose(self, way: str) -> None:
        """Take a way, if it is there."""
        if not self.listening:
            return
        for _, each, _ in self.ways.told():
            if each == way:
                self.dismiss(each)


def _no_larger(model: LoadedModel) -> str:
    most = model.trained_context
    if not most:
        return "How large a context the model takes is not known; /context N tries one."
    if most <= model.context_size:
        return f"This is the model's longest context: it was trained for {plural(most, 'token')}."
    return f"It does not fit the model's longest context of {plural(most, 'token')} either."
