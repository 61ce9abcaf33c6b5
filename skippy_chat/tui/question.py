"""What a question about a call says, and where it scrolls.

Invariant: it is complete, and every line of it is wrapped rather than cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message as Posted
from textual.widget import Widget

from skippy_chat.events import ApprovalNeeded
from skippy_chat.tui.diff import diff_lines
from skippy_chat.tui.display import complete, visible_line
from skippy_chat.tui.flow import Line, Text
from skippy_chat.tui.message import EMPTY
from skippy_chat.tui.prose import Prose

_BAR = Content.styled("▎ ", "dim")  # before every row of the call's own text, so that none passes for ours
# The key for each scope of a yes, and its words.
SCOPES = (("y", "once", "yes, once"), ("s", "session", "this session"), ("a", "always", "always"))


class Question(Widget):
    """The whole question as selectable lines."""

    def __init__(self) -> None:
        super().__init__()
        self.prose = Prose()

    def put(self, lines: list[Line]) -> None:
        """Show other lines."""
        self.prose.palette = self.app.theme
        self.prose.replace(0, lines)
        self.refresh(layout=True)

    def render(self) -> Prose:
        """Return the lines."""
        return self.prose

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Return the number of rows at a width."""
        return self.prose.height(width)


class QuestionScroll(VerticalScroll, can_focus=True, inherit_bindings=False):
    """Where the question scrolls, and what has the focus while it is answered."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "by(-1)", "Up"),
        Binding("down", "by(1)", "Down"),
        Binding("pageup", "page(-1)", "Page up"),
        Binding("pagedown,space", "page(1)", "Page down"),
        Binding("home", "to_start", "Start"),
        Binding("end", "to_end", "End"),
    ]

    @dataclass
    class Moved(Posted):
        """Another part of the question is on the screen."""

    def action_by(self, rows: int) -> None:
        """Scroll by rows."""
        self.scroll_relative(y=rows, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll by pages, one row of the last staying in view."""
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False)

    def action_to_start(self) -> None:
        """Go to the start."""
        self.scroll_home(animate=False)

    def action_to_end(self) -> None:
        """Go to the end."""
        self.scroll_end(animate=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell that it moved."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Tell that another part is visible."""
        self.post_message(self.Moved())


def question_title(asked: ApprovalNeeded, width: int) -> tuple[Content, bool]:
    """Return the question in a line of at most ``width`` cells, and whether it says why it is asked."""
    name = visible_line(asked.name, 60)
    title = Content.assemble(("? ", "bold $text-warning"), (f"May {name} run?", "bold"))
    whole = Content.assemble(title, "  ", (_why(asked), "dim"))
    return (whole, True) if whole.cell_length <= width else (title, False)


def question_lines(asked: ApprovalNeeded, *, why: bool) -> list[Line]:
    """Return all that must be seen before a yes: the call, its diff, the rules a yes may leave; ``why`` it is asked."""
    lines: list[Line] = []
    if why and asked.why:
        lines.append(Text(Content.styled(_why(asked), "dim")))
    lines += _quoted(asked.text)
    if asked.diff:
        lines += [EMPTY, *diff_lines(complete(asked.diff), _BAR)]
    if asked.rules and len(asked.scopes) > 1:
        longer = " or ".join(key for key, scope, _ in SCOPES if scope in asked.scopes and scope != "once")
        lines += [EMPTY, Text(Content.styled(f"{longer} would also let pass, from now on:", "dim"))]
        lines += _quoted("\n".join(asked.rules))
    return lines


def _why(asked: ApprovalNeeded) -> str:
    return " ".join(complete(asked.why).split())


def _quoted(text: str) -> list[Line]:
    return [Text(Content(each), _BAR, _BAR, folded=True) for each in complete(text).split("\n")]
