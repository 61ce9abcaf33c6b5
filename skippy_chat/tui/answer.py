"""An answer of the model: its reasoning, which folds away once the answer itself begins, and its text.

Invariant: while it streams, text that comes costs as much as the lines it changes; what it looks like is what the
stored message will look like, but for the colours of the last block of code.
"""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size

from skippy_chat.chat.messages import Message
from skippy_chat.tui.calls import brief
from skippy_chat.tui.display import shown, visible_line
from skippy_chat.tui.flow import Line, Text
from skippy_chat.tui.markdown import markdown_lines
from skippy_chat.tui.message import EMPTY, INDENT, MessageView, fold_mark, folded
from skippy_chat.tui.stream import GrowingMarkdown, GrowingPlain

# Rows that an answer grows by at once, at least: to follow it moves, and so paints, the whole transcript.
_HEADROOM = 3
_THOUGHT = "dim italic"
_LABEL = "reasoning"


class AnswerView(MessageView):
    """The assistant's message."""

    def __init__(self) -> None:
        super().__init__("assistant")
        self._text: GrowingMarkdown | None = None
        self._thought: GrowingPlain | None = None
        self._text_lines: list[Line] = []
        self._thought_lines: list[Line] = []
        self._room = 0
        self.display = False  # until there is something to show

    def grow_text(self, piece: str) -> None:
        """Add a piece of the answer."""
        begins = self._text is None
        self._text = self._text or GrowingMarkdown()
        start, lines = self._text.feed(piece)
        self._text_lines[start:] = lines
        if begins and self._thought_lines:
            self.unfolded = False  # what it thought is of less interest from now on
            self._grown()
        else:
            self._put(len(self._above()) + start, lines)

    def grow_thought(self, piece: str) -> None:
        """Add a piece of the reasoning."""
        begins = self._thought is None
        self._thought = self._thought or GrowingPlain(_THOUGHT, INDENT)
        start, lines = self._thought.feed(piece)
        self._thought_lines[start:] = lines
        if begins and self._text is None:
            self.unfolded = True
        if begins or self._text is not None or not self.unfolded:
            self._grown()
        else:
            self._put(1 + start, lines)

    def fold_thought(self) -> None:
        """Fold the reasoning of an answer that goes on in a call, or has ended, without a word."""
        if self._thought_lines and self._text is None:
            self.unfold(False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the lines and, while they grow, of some room for the next ones."""
        return max(super().get_content_height(container, viewport, width), self._room)

    def _settled(self) -> None:
        if self._thought is not None and self._text is None:
            self.unfolded = False
        self._text = self._thought = None
        self._text_lines, self._thought_lines = [], []

    def _restore(self) -> None:
        if self.message is None:
            self._grown()
        else:
            super()._restore()

    def _grown(self) -> None:
        """Show all that has come so far."""
        self._put(0, [*self._above(), *self._text_lines])

    def _above(self) -> list[Line]:
        """Return the reasoning as it shows, with the gap to the answer under it."""
        if not self._thought_lines:
            return []
        if self.unfolded:
            lines: list[Line] = [Text(Content(""), fold_mark(_LABEL, unfolded=True)), *self._thought_lines]
        else:
            thought = "\n".join(each.plain for each in self._thought_lines).strip("\n")
            lines = folded(_LABEL, thought.split("\n"), unfolded=False)
        return [*lines, EMPTY] if self._text_lines else lines

    def _stored_lines(self, message: Message) -> list[Line]:
        lines: list[Line] = []
        if message.reasoning and message.reasoning.strip():
            thought = shown(message.reasoning).strip("\n").split("\n")
            lines += folded(_LABEL, thought, unfolded=self.unfolded, style=_THOUGHT)
        text = markdown_lines(shown(message.content).strip("\n"), colours=True)
        lines += [EMPTY, *text] if lines and text else text
        for call in self._calls:
            said = visible_line(call.name, 80) + " " + brief(call.arguments)
            lines.append(
                Text(Content.styled(f"{said} · no result", "dim"), Content.styled("… ", "dim"), INDENT)
            )
        return lines

    def _is_resized(self, before: int, now: int) -> bool:
        before = max(before, self._room)
        if self.message is not None:
            self._room = 0
        elif now > self._room and now:
            self._room = now + max(_HEADROOM, self.app.size.height // 4)
        return max(now, self._room) != before
