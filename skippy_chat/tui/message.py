"""One message on the screen: a single selectable widget; what it says is frozen lines.

Answers, which grow, and calls of tools are kinds of it. Invariant: every text of a message passes ``display.shown`` (or
a stream's own sanitiser) before it becomes a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message as Posted
from textual.selection import Selection
from textual.widget import Widget

from skippy_chat.chat.messages import Message, Role, ToolCall
from skippy_chat.completions.attaching import split_files
from skippy_chat.events import FinishReason
from skippy_chat.tui.display import shown
from skippy_chat.tui.flow import Line, Text
from skippy_chat.tui.markdown import plain_lines
from skippy_chat.tui.prose import Prose
from skippy_chat.wording import EDITED, NOT_ANSWERED, ending, plural

Level = Literal["info", "warning", "error"]

EMPTY = Text(Content(""))
INDENT = Content("  ")
_USER_MARK = Content.styled("» ", "bold $text-primary")
_NOTE_MARKS: dict[Level, tuple[str, str]] = {
    "info": ("· ", "dim"),
    "warning": ("! ", "$text-warning"),
    "error": ("✗ ", "$text-error"),
}
_SHORT = 3


class MessageView(Widget, can_focus=True, inherit_bindings=False):
    """A message with its footnotes; ``message`` is None while it has no place in the history yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("left", "version(-1)", "Older version"),
        Binding("right", "version(1)", "Newer version"),
        Binding("r", "unfold", "Fold or unfold"),
        Binding("E,shift+e", "app.command('editor')", "Edit in the editor"),
        Binding("y", "app.command('copy')", "Copy"),
        Binding("c", "app.command('copy-code')", "Copy code"),
        Binding("x", "app.command('remove')", "Leave out the turn"),
        Binding("[", "app.command('above')", "Your message above"),
        Binding("]", "app.command('below')", "Your message below"),
        Binding("home", "app.command('goto')", "The first message"),
    ]
    auto_links = False

    @dataclass
    class EditWanted(Posted):
        """The person wants to change this message."""

        message: Message

    @dataclass
    class VersionWanted(Posted):
        """The person wants to see another version of this message."""

        message: str

    def __init__(self, role: Role) -> None:
        super().__init__(classes=role)
        self.role = role
        self.message: Message | None = None
        self.message_id = ""
        self.unfolded = False
        self._here = True
        self._calls: tuple[ToolCall, ...] = ()
        self._versions: tuple[str, ...] = ()
        self._notes: list[tuple[Level, str]] = []
        self._prose = Prose()
        self._end = 0

    def on_mount(self) -> None:
        """Follow the theme."""
        self._prose.palette = self.app.theme
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._repalette())

    def render(self) -> Prose:
        """Return the lines."""
        return self._prose

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected part of the source text."""
        return selection.extract(self._prose.plain), "\n"

    def expect(self, clean: str) -> None:
        """Show the text of a message that is about to be stored."""
        self._put(0, self._said_lines(clean))

    def note(self, level: Level, text: str) -> None:
        """Add a footnote about the turn; foreign text is welcome."""
        self._notes.append((level, text))
        self._put(self._end, [])

    def show_here(self, here: bool) -> None:  # noqa: FBT001 - it says what it means
        """Show it, as far as there is something to show, or hide it while other parts of the branch are shown."""
        self._here = here
        self._appear()

    def seek(self, sought: str) -> list[tuple[int, int]]:
        """Mark folded words wherever they stand, and return the lines and where in them; nothing marks none."""
        if self._prose.sought != sought or self._prose.at is not None:
            self._prose.sought, self._prose.at = sought, None
            self.refresh()
        return self._prose.places(sought) if sought else []

    def look_at(self, line: int, start: int) -> int:
        """Mark the place that is looked at, and return its row."""
        self._prose.at = (line, start)
        self.refresh()
        return self._prose.row(self.content_size.width, line, start)

    def settle(self, message: Message, versions: Sequence[str], calls: tuple[ToolCall, ...] = ()) -> None:
        """Take the message as it is stored, with all its colours, and the calls it shows; its notes stay."""
        if (self.message, self._versions, self._calls) == (message, tuple(versions), calls):
            return
        self.message = message
        self.message_id = message.id
        self._versions = tuple(versions)
        self._calls = calls
        self._settled()
        self._restore()

    @property
    def plain(self) -> str:
        """What a selection of all of it would copy."""
        return self._prose.plain

    def action_edit(self) -> None:
        """Ask for the message to be edited."""
        if self.role == "user" and self.message is not None:
            self.post_message(self.EditWanted(self.message))
        else:
            self.call_later(self.run_action, "app.command('edit')")

    def action_version(self, step: int) -> None:
        """Ask for an older or newer version of the message."""
        if self.message is None or len(self._versions) < 2:
            return
        at = self._versions.index(self.message.id) + step
        if 0 <= at < len(self._versions):
            self.post_message(self.VersionWanted(self._versions[at]))

    def action_unfold(self) -> None:
        """Show or fold away reasoning, what a tool was given and gave, long system prompts and files."""
        self.unfold(not self.unfolded)

    def unfold(self, wanted: bool) -> None:  # noqa: FBT001 - it says what it means
        """Show what is folded away, or fold it."""
        if wanted != self.unfolded:
            self.unfolded = wanted
            self._restore()

    def _settled(self) -> None:
        """Let go of what only a message that is not stored yet needs."""

    def _restore(self) -> None:
        if self.message is not None:
            self._put(0, self._stored_lines(self.message))

    def _stored_lines(self, message: Message) -> list[Line]:
        text = shown(message.content)
        if message.role == "user":
            return self._said_lines(text)
        lines = text.strip("\n").split("\n")
        if len(lines) <= _SHORT:
            return [Text(Content(""), fold_mark(message.role, unfolded=True)), *dimmed(lines)]
        return folded(message.role, lines, unfolded=self.unfolded)

    def _said_lines(self, text: str) -> list[Line]:
        """Return a person's message; long files that went along are folded away."""
        said, files = split_files(text)
        if self.unfolded or sum(content.count("\n") for _, content in files) <= _SHORT:
            return plain_lines(text, _USER_MARK)
        lines = plain_lines(said, _USER_MARK)
        for path, content in files:
            lines += folded(path, content.split("\n")[:-1], unfolded=False)
        return lines

    def _put(self, start: int, lines: Sequence[Line]) -> None:
        """Replace the body from a line on, and put the footnotes under it."""
        self._end = start + len(lines)
        width = self.content_size.width if self.is_attached else 0
        old = self._prose.height(width)
        changed, rows = self._prose.replace(start, [*lines, *self._foot()])
        height = self._prose.height(width)
        self._appear()
        # A layout moves, and so repaints, the whole transcript: only where it is due. Else paint what changed.
        if self._is_resized(old, height) or not width:
            self.refresh(layout=True)
        else:
            top = self._prose.height(width, changed) + rows
            self.refresh(Region(0, top, width, max(old, height) - top))

    def _appear(self) -> None:
        wanted = self._here and bool(len(self._prose))
        if self.display != wanted:
            self.display = wanted

    def _is_resized(self, before: int, now: int) -> bool:
        """Tell whether the widget needs another height, when its lines took and take so many rows."""
        return before != now

    def _repalette(self) -> None:
        self._prose.palette = self.app.theme
        self.refresh()

    def _foot(self) -> list[Line]:
        """Return the footnotes: how it ended, what was noticed, which version it is."""
        lines: list[Line] = []
        if self.message is not None and self.message.role == "assistant":
            # An answer that nothing ended broke off: with the worker, or with the program.
            unended = "stop" if self.message.state == "complete" else "error"
            reason = cast("FinishReason", self.message.finish_reason or unended)
            if ending(reason):
                lines += _note_lines("info", ending(reason))
        if self.message is not None and self.message.edited:
            lines += _note_lines("info", EDITED)
        if self.message is not None and self.message.state == "failed":
            lines += _note_lines("warning", NOT_ANSWERED)
        for level, text in self._notes:
            lines += _note_lines(level, shown(text))
        if self.message is not None and len(self._versions) > 1:
            at = self._versions.index(self.message.id) + 1
            lines.append(Text(Content.styled(f"◂ {at}/{len(self._versions)} ▸", "$text-secondary")))
        return [EMPTY, *lines] if lines and self.role == "assistant" and self._end else lines


def folded(label: str, lines: Sequence[str], *, unfolded: bool, style: str = "dim") -> list[Line]:
    """Return lines that are safe to show under a label, or, folded away, how many there are."""
    mark = fold_mark(label, unfolded=unfolded)
    if unfolded:
        return [Text(Content(""), mark), *dimmed(lines, style)]
    them = "it" if len(lines) == 1 else "them"
    return [Text(Content.styled(f"{plural(len(lines), 'line')} · r shows {them}", "dim"), mark)]


def fold_mark(label: str, *, unfolded: bool) -> Content:
    """Return a label with the sign of whether what it stands for is shown."""
    return Content.styled(f"{'▾' if unfolded else '▸'} {label} ", "dim")


def dimmed(lines: Sequence[str], style: str = "dim") -> list[Line]:
    """Return lines that are safe to show, indented and dim."""
    return [Text(Content.styled(line, style), INDENT, INDENT) for line in lines]


def _note_lines(level: Level, text: str) -> list[Line]:
    """Return a note's lines: the first says it, what follows is detail."""
    mark, style = _NOTE_MARKS[level]
    first, *rest = text.split("\n")
    head = Text(Content.styled(first, style), Content.styled(mark, style), INDENT)
    return [head, *dimmed(rest)]
