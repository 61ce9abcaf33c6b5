"""The settings screen: every setting with its meaning, value and source, changed in place.

Invariant: nothing is written that the table of settings would refuse; the file's comments stay; a value that
cannot hold at once says when it will.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.agent.adjusting import ADJUSTABLE
from skippy_chat.config import KEYS, Settings
from skippy_chat.errors import SkippyError
from skippy_chat.setting_table import TABLE
from skippy_chat.setting_wording import holds, source_text, unset_text, value_text
from skippy_chat.tui.display import one_line, shown
from skippy_chat.tui.entry import Entry
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.rows import Rows

_KEY_WIDTH = max(len(key) for key in KEYS)
_SOURCE_WIDTH = 22
_KEYS_TOLD = "Enter changes · s this session only · d out of the file · Esc closes"
_EDIT_TOLD = "Enter keeps it · Esc leaves it as it was"


@dataclass(frozen=True, slots=True)
class Desk:
    """What the screen changes: how settings are read and written, each of which may wait for the disk.

    ``keep`` writes into the person's file, and ``adjust`` into the open session; both take the text that was typed and
    return what to tell. ``file`` is told to the person.
    """

    read: Callable[[], Settings]
    keep: Callable[[str, str], str]
    drop: Callable[[str], str]
    adjust: Callable[[str, str], str]
    file: str


class SettingsScreen(Modal[None]):
    """Lists the settings; changes are made in a thread, so that the screen waits for no disk."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+d", "back", "Back", priority=True),
        Binding("s", "adjust", "For this session only"),
        Binding("d,delete", "drop", "Out of the file"),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._settings = Settings()
        self._editing: Callable[[str, str], str] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the list, what is told of the highlighted setting, and the line in which it is changed."""
        with Vertical(id="settings", classes="choosing"):
            yield Static(Content.assemble(("Settings  ", "bold"), (one_line(self._desk.file, 200), "dim")))
            yield Rows(markup=False)
            yield Static(id="setting-told", markup=False)
            with Horizontal(id="setting-entry"):
                yield Static(id="setting-name", markup=False)
                yield Entry(id="setting-value")
            yield Static(id="setting-note", markup=False)
            yield Static(id="setting-keys", markup=False)

    def set_up(self) -> None:
        """Read the settings."""
        self.query_one("#setting-entry").display = False
        self._tell_keys(_KEYS_TOLD)
        self.query_one(OptionList).focus()
        self._do(lambda: "")

    @property
    def key(self) -> str:
        """The setting that is highlighted."""
        return KEYS[self.query_one(OptionList).highlighted or 0]

    def on_resize(self) -> None:
        """Give the values the room there is."""
        if self.stands and self.query_one(OptionList).option_count:
            self._fill()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell what it is."""
        event.stop()
        self._describe()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Change it."""
        event.stop()
        self._edit(self._desk.keep, "")

    def action_adjust(self) -> None:
        """Change it for the open session alone."""
        if self.key in ADJUSTABLE:
            self._edit(self._desk.adjust, " for this session")
        else:
            self._tell(
                f"{self.key} cannot be changed while a session is open; these can: {', '.join(ADJUSTABLE)}."
            )

    def action_drop(self) -> None:
        """Take it out of the file, so that its default counts."""
        key = self.key
        self._do(lambda: self._desk.drop(key))

    def action_back(self) -> None:
        """Leave the line, or close."""
        if self._editing is None:
            self.dismiss()
        else:
            self._end_edit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep what was typed."""
        event.stop()
        change, key, text = self._editing, self.key, event.value.strip()
        if change is not None:
            self._do(lambda: change(key, text), self._end_edit)

    def _edit(self, change: Callable[[str, str], str], where: str) -> None:
        value = getattr(self._settings, self.key)
        if isinstance(value, str) and "\n" in value:
            self._tell(f"{self.key} has several lines: change it in an editor, in {self._desk.file}.")
            return
        self._editing = change
        self.query_one("#setting-name", Static).update(Content(f"{self.key}{where} = "))
        self.query_one("#setting-entry").display = True
        words = TABLE[self.key].kind.choices
        self.query_one(Entry).begin(shown(value_text(value)), words)
        self._tell("")
        choices = " · Up and Down go through what fits" if words else ""
        self._tell_keys(_EDIT_TOLD + choices)

    def _end_edit(self) -> None:
        self._editing = None
        self.query_one("#setting-entry").display = False
        self._tell_keys(_KEYS_TOLD)
        self.query_one(OptionList).focus()

    def _do(self, change: Callable[[], str], then: Callable[[], None] = lambda: None) -> None:
        """Change something and read the settings again, in a thread; ``then`` follows where that went well."""

        def work() -> None:
            try:
                told, settings = change(), self._desk.read()
            except SkippyError as error:
                self.app.call_from_thread(self._tell, str(error))
            else:
                self.app.call_from_thread(self._changed, told, settings, then)

        self.run_worker(work, thread=True, exit_on_error=True)

    def _changed(self, told: str, settings: Settings, then: Callable[[], None]) -> None:
        if not self.stands:
            return
        self._settings = settings
        then()
        self._fill()
        self._tell(told)

    def _fill(self) -> None:
        rows = self.query_one(OptionList)
        at = rows.highlighted or 0
        rows.clear_options()
        rows.add_options([Option(self._row(key)) for key in KEYS])
        rows.highlighted = at
        self._describe()

    def _row(self, key: str) -> Content:
        room = max(10, self.query_one(OptionList).size.width - _KEY_WIDTH - _SOURCE_WIDTH - 8)
        value = getattr(self._settings, key)
        text = one_line(value_text(value), room) or one_line(TABLE[key].unset, room)
        source = self._settings.sources.get(key, "default")
        set_style = "" if source == "default" else "bold"
        told = source_text(source)
        return Content.assemble(
            f"{key:<{_KEY_WIDTH}}  ",
            (f"{text:<{room}}", set_style or "dim"),
            (f"  {one_line(told, _SOURCE_WIDTH)}", "dim"),
        )

    def _describe(self) -> None:
        key = self.key
        about = TABLE[key]
        source = self._settings.sources.get(key, "default")
        told = Content.assemble(
            about.meaning,
            (f"\n{about.kind.told[:1].upper()}{about.kind.told[1:]}. Default: {unset_text(key)}.", "dim"),
            (f"\nFrom: {one_line(source, 160)}. A change in the file holds {holds(key)}.", "dim"),
        )
        self.query_one("#setting-told", Static).update(told)

    def _tell(self, text: str) -> None:
        if self.stands:
            self.query_one("#setting-note", Static).update(
                Content.styled(one_line(text, 400), "$text-warning")
            )

    def _tell_keys(self, text: str) -> None:
        self.query_one("#setting-keys", Static).update(Content.styled(text, "dim"))
