"""One message on the screen: a single selectable widget, growing while it streams, frozen afterwards.

Invariant: every text of a message passes ``display.shown`` (or the stream's own sanitiser) before it becomes a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message as Posted
from textual.selection import Selection
from textual.widget import Widget

from skippy_chat.chat.messages import Message, Role
from skippy_chat.events import FinishReason
from skippy_chat.tui.display import one_line, shown
from skippy_chat.tui.flow import Line, Text
from skippy_chat.tui.markdown import markdown_lines, plain_lines
from skippy_chat.tui.prose import Prose
from skippy_chat.tui.stream import GrowingMarkdown, GrowingPlain
from skippy_chat.wording import NOT_ANSWERED, ending, plural

Level = Literal["info", "warning", "error"]

_EMPTY = Text(Content(""))
_USER_MARK = Content.styled("» ", "bold $text-primary")
_NOTE_MARKS: dict[Level, tuple[str, str]] = {
    "info": ("· ", "dim"),
    "warning": ("! ", "$text-warning"),
    "error": ("✗ ", "$text-error"),
}
_FOLDED_LINES = 3
# Rows that an answer grows by at once, at least: to follow it moves, and so paints, the whole transcript.
_HEADROOM = 3


class MessageView(Widget, can_focus=True, inherit_bindings=False):
    """A message with its footnotes; ``message`` is None while it has no place in the history yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("left", "version(-1)", "Older version"),
        Binding("right", "version(1)", "Newer version"),
        Binding("r", "unfold", "Fold or unfold"),
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

    def __init__(self, role: Role, message: Message | None = None, versions: Sequence[str] = ()) -> None:
        super().__init__(classes=role)
        self.role = role
        self.message = message
        self.message_id = message.id if message else ""
        self._versions = tuple(versions)
        self._notes: list[tuple[Level, str]] = []
        self._unfolded = False
        self._prose = Prose()
        self._body = 0
        self._end = 0
        self._room = 0
        self._text: GrowingMarkdown | None = None
        self._thought: GrowingPlain | None = None
        if message is not None:
            self._put(0, self._stored_lines(message))

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

    # While it streams

    def expect(self, clean: str) -> None:
        """Show the text of a message that is about to be stored."""
        self._put(0, plain_lines(clean, _USER_MARK))

    def grow_text(self, piece: str) -> None:
        """Add a piece of the answer."""
        if self._text is None:
            self._text = GrowingMarkdown()
            if self._thought is not None:
                self._put(self._body, [_EMPTY])
                self._body += 1
        start, lines = self._text.feed(piece)
        self._put(self._body + start, lines)

    def grow_thought(self, piece: str) -> None:
        """Add a piece of the reasoning before the answer."""
        if self._thought is None:
            self._thought = GrowingPlain("dim italic")
        start, lines = self._thought.feed(piece)
        self._body = start + len(lines)
        self._put(start, lines)

    def note(self, level: Level, text: str) -> None:
        """Add a footnote about the turn; foreign text is welcome."""
        self._notes.append((level, text))
        self._put(self._end, [])

    # In the history

    def settle(self, message: Message, versions: Sequence[str]) -> None:
        """Take the message as it is stored, with all its colours; its notes stay."""
        if self.message == message and self._versions == tuple(versions):
            return
        self.message = message
        self.message_id = message.id
        self._versions = tuple(versions)
        self._text = self._thought = None
        self._restore()

    @property
    def plain(self) -> str:
        """What a selection of all of it would copy."""
        return self._prose.plain

    def action_edit(self) -> None:
        """Ask for the message to be edited, if it is the person's own."""
        if self.role == "user" and self.message is not None:
            self.post_message(self.EditWanted(self.message))

    def action_version(self, step: int) -> None:
        """Ask for an older or newer version of the message."""
        if self.message is None or len(self._versions) < 2:
            return
        at = self._versions.index(self.message.id) + step
        if 0 <= at < len(self._versions):
            self.post_message(self.VersionWanted(self._versions[at]))

    def action_unfold(self) -> None:
        """Show or fold away reasoning, tool results and long system prompts."""
        if self.message is not None:
            self._unfolded = not self._unfolded
            self._restore()

    def _restore(self) -> None:
        assert self.message is not None
        self._put(0, self._stored_lines(self.message))

    def _put(self, start: int, lines: Sequence[Line]) -> None:
        """Replace the body from a line on, and put the footnotes under it."""
        self._end = start + len(lines)
        width = self.content_size.width if self.is_attached else 0
        old = self._prose.height(width)
        before = max(old, self._room)
        changed, rows = self._prose.replace(start, [*lines, *self._foot()])
        height = self._prose.height(width)
        growing = self.message is None and self.role == "assistant"
        if growing and height > self._room:
            self._room = height + max(_HEADROOM, self.app.size.height // 4)
        elif not growing:
            self._room = 0
        # A layout moves, and so repaints, the whole transcript: only where it is due. Else paint what changed.
        if not width or max(height, self._room) != before:
            self.refresh(layout=True)
        else:
            top = self._prose.height(width, changed) + rows
            self.refresh(Region(0, top, width, max(old, height) - top))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the lines and, while they grow, of some room for the next ones."""
        return max(super().get_content_height(container, viewport, width), self._room)

    def _repalette(self) -> None:
        self._prose.palette = self.app.theme
        self.refresh()

    def _stored_lines(self, message: Message) -> list[Line]:
        text = shown(message.content)
        if message.role == "user":
            return plain_lines(text, _USER_MARK)
        if message.role in ("system", "tool"):
            return self._foldable(message.role, text)
        lines: list[Line] = []
        if message.reasoning:
            lines += [*self._foldable("reasoning", shown(message.reasoning)), _EMPTY]
        lines += markdown_lines(text.strip("\n"), colours=True)
        for call in message.tool_calls:
            said = one_line(f"{call.name} {call.arguments}", 200)
            lines.append(Text(Content.styled(said, "dim"), Content.styled("⚙ ", "dim"), Content("  ")))
        return lines

    def _foldable(self, label: str, text: str) -> list[Line]:
        lines = text.strip("\n").split("\n")
        folds = len(lines) > _FOLDED_LINES or label == "reasoning"
        mark = Content.styled(f"{'▾' if self._unfolded or not folds else '▸'} {label} ", "dim")
        if not folds or self._unfolded:
            indent = Content("  ")
            head = Text(Content(""), mark)
            return [head, *(Text(Content.styled(line, "dim"), indent, indent) for line in lines)]
        return [Text(Content.styled(f"{plural(len(lines), 'line')} · r shows them", "dim"), mark)]

    def _foot(self) -> list[Line]:
        """Return the footnotes: how it ended, what was noticed, which version it is."""
        lines: list[Line] = []
        if self.message is not None and self.message.role == "assistant":
            # An answer that nothing ended broke off: with the worker, or with the program.
            unended = "stop" if self.message.state == "complete" else "error"
            reason = cast("FinishReason", self.message.finish_reason or unended)
            if ending(reason):
                lines += _note_lines("info", ending(reason))
        if self.message is not None and self.message.state == "failed":
            lines += _note_lines("warning", NOT_ANSWERED)
        for level, text in self._notes:
            lines += _note_lines(level, shown(text))
        if self.message is not None and len(self._versions) > 1:
            at = self._versions.index(self.message.id) + 1
            lines.append(Text(Content.styled(f"◂ {at}/{len(self._versions)} ▸", "$text-secondary")))
        return [_EMPTY, *lines] if lines and self.role != "user" and self._end else lines


def _note_lines(level: Level, text: str) -> list[Line]:
    """Return a note's lines: the first says it, what follows is detail."""
    mark, style = _NOTE_MARKS[level]
    first, *rest = text.split("\n")
    indent = Content("  ")
    head = Text(Content.styled(first, style), Content.styled(mark, style), indent)
    return [head, *(Text(Content.styled(line, "dim"), indent, indent) for line in rest)]
