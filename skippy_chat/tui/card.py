"""A call of a tool on the screen: what is called, how it stands, what it says while it runs, and what it gave.

The same card serves while the call is written, asked about and run, and for a result from the history.
Invariant: names, arguments, output, results and diffs are foreign text, and pass the display boundary here;
what changes the direction of text, or does not show, is left out.
"""

from __future__ import annotations

from typing import Literal

from textual.content import Content

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.events import ToolFinished, ToolStatus
from skippy_chat.text.sizes import format_size
from skippy_chat.tool_wording import status_mark
from skippy_chat.tui.calls import brief, in_full
from skippy_chat.tui.diff import counted, diff_lines
from skippy_chat.tui.display import visible, visible_line
from skippy_chat.tui.flow import Line, Text
from skippy_chat.tui.headline import Headline
from skippy_chat.tui.live import LiveOutput
from skippy_chat.tui.message import INDENT, MessageView, dimmed
from skippy_chat.wording import plural, seconds

Phase = Literal["written", "asked", "waiting", "running", "ended"]

_LIVE_LINES = 6
_SHORT_RESULT = 3  # lines that are not worth folding away
_SHORT_DIFF = 12
_MOST_LINES = 2000
_FURTHER = Content("    ")
_LONG_CALL = 200  # characters that are still written without being counted

_MARKS: dict[Phase, tuple[str, str]] = {
    "written": ("…", "dim"),
    "asked": ("?", "bold $text-warning"),
    "waiting": ("…", "dim"),
    "running": ("●", "$text-accent"),
    "ended": ("·", "dim"),
}
_STATUS_STYLES: dict[ToolStatus, str] = {
    "ok": "$text-success",
    "denied": "$text-warning",
    "error": "$text-error",
}
_STATUS_WORDS: dict[ToolStatus, str] = {"ok": "", "denied": "denied", "error": "failed"}


class ToolCard(MessageView):
    """One call and its result; it takes its place as the result's message once that is stored."""

    def __init__(self, name: str = "") -> None:
        super().__init__("tool")
        self._tool = name
        self._arguments = ""
        self._phase: Phase = "written"
        self._status: ToolStatus | None = None
        self._gave: list[str] = []
        self._bytes = 0
        self._detail = ""
        self._spilled = ""
        self._started_at = 0
        self._ran_ms = 0
        self._live = LiveOutput()

    # While it comes about

    def write(self, name: str, piece: str) -> None:
        """Add to the call as the model writes it."""
        self._tool = name or self._tool
        self._arguments += piece
        self._show()

    def ask(self, name: str, arguments: str) -> None:
        """Say that it waits for a person."""
        self._tool = name or self._tool
        self._arguments = arguments or self._arguments
        self._go("asked")

    def answered(self) -> None:
        """Say that it waits for a person no longer."""
        if self._phase == "asked":
            self._go("waiting")

    def start(self, name: str, arguments: str, at_ms: int) -> None:
        """Say that it runs."""
        self._tool = name or self._tool
        self._arguments = arguments or self._arguments
        self._started_at = at_ms
        self._go("running")

    def say(self, piece: str) -> None:
        """Add live output."""
        self._live.feed(piece)
        self._show()

    def finish(self, event: ToolFinished) -> None:
        """Take what it gave."""
        self._tool = self._tool or event.name
        self._take(event.status, event.result, event.detail)
        self._spilled = event.spilled
        if self._phase == "running":
            self._ran_ms = max(0, event.at_ms - self._started_at)
        self.message_id = event.message
        self._live = LiveOutput()
        self._go("ended")

    def _go(self, phase: Phase) -> None:
        self._phase = phase
        self._show()

    def _show(self) -> None:
        self._put(0, self._lines())

    # As it is stored

    def _settled(self) -> None:
        self._live = LiveOutput()
        self._phase = "ended"

    def _restore(self) -> None:
        if self.message is None:
            self._show()
        else:
            super()._restore()

    def _stored_lines(self, message: Message) -> list[Line]:
        call = self._calls[0] if self._calls else ToolCall("", self._tool, self._arguments)
        self._tool, self._arguments = call.name, call.arguments
        self._take(message.status, message.content, message.detail)
        return self._lines()

    def _take(self, status: ToolStatus | None, result: str, detail: str) -> None:
        text = visible(result).strip("\n")
        self._status, self._detail = status, visible(detail).strip("\n")
        self._gave = text.split("\n") if text else []
        self._bytes = len(result.encode("utf-8", "replace"))

    # Its lines

    def _lines(self) -> list[Line]:
        lines: list[Line] = [self._head()]
        if self.unfolded:
            lines += self._given()
        if self._phase == "running":
            lines += dimmed(self._live.last(_MOST_LINES if self.unfolded else _LIVE_LINES))
        elif self._phase == "ended":
            lines += self._result()
        if self._spilled:
            lines += dimmed([f"All of it is in {visible_line(self._spilled, 4000)}"])
        return lines

    def _head(self) -> Headline:
        sign, style = _MARKS[self._phase]
        if self._phase == "ended" and self._status is not None:
            sign, style = status_mark(self._status), _STATUS_STYLES[self._status]
        name = visible_line(self._tool, 80) or "a call"
        said = "" if self.unfolded else brief(self._arguments)
        content = Content.assemble((name, "bold"), f" {said}" if said else "")
        return Headline(content, Content.styled(f"{sign} ", style), self._tail())

    def _tail(self) -> Content:
        if self._phase == "written" and len(self._arguments) > _LONG_CALL:
            return Content.styled(f"{len(self._arguments):,} characters", "dim")
        if self._phase == "asked":
            return Content.styled("asks", "$text-warning")
        if self._phase == "running":
            said = f" · {plural(self._live.count, 'line')}" if self._live.count > _LIVE_LINES else ""
            return Content.styled(f"running{said}", "$text-accent")
        if self._phase != "ended":
            return Content("")
        parts = [self._measured()] if self._status in ("ok", None) else []
        if self._ran_ms:
            parts.append(seconds(self._ran_ms))
        told = Content.styled(" · ".join(part for part in parts if part), "dim")
        word = _STATUS_WORDS[self._status] if self._status is not None else ""
        if not word:
            return told
        assert self._status is not None
        gap = " · " if told.plain else ""
        return Content.assemble((word, _STATUS_STYLES[self._status]), (gap, "dim"), told)

    def _measured(self) -> str:
        """Say how much there is where it is not all shown anyway."""
        if self._detail:
            return counted(self._detail)
        if len(self._gave) <= _SHORT_RESULT:
            return ""
        sign = "▾" if self.unfolded else "▸"
        return f"{sign} {plural(len(self._gave), 'line')}, {format_size(self._bytes)}"

    def _given(self) -> list[Line]:
        """Return all arguments in full."""
        lines: list[Line] = []
        for name, value in in_full(self._arguments):
            first, *rest = value.split("\n")
            label = Content.styled(f"  {name}: " if name else "  ", "dim")
            if rest:
                lines.append(Text(Content(""), label))
                lines += [
                    Text(Content(line), _FURTHER, _FURTHER, folded=True) for line in _at_most([first, *rest])
                ]
            else:
                lines.append(Text(Content(first), label, _FURTHER, folded=True))
        return lines

    def _result(self) -> list[Line]:
        """Return what it gave, as far as it is shown: a failure says why, a diff some of it."""
        if self._status in ("denied", "error"):
            more = 0 if self.unfolded else len(self._gave) - _SHORT_RESULT
            lines = (
                _at_most(self._gave) if more <= 0 else self._gave[more:]
            )  # why it failed stands at the end
            return [*_more(more), *(Text(Content(line), INDENT, INDENT) for line in lines)]
        if self._detail:
            lines = self._detail.split("\n")
            more = 0 if self.unfolded else len(lines) - _SHORT_DIFF
            lines = _at_most(lines) if more <= 0 else lines[:_SHORT_DIFF]
            diff = [*diff_lines("\n".join(lines), INDENT), *_more(more)]
            return [*diff, *self._in_full()] if self.unfolded else diff
        if self.unfolded:
            return self._in_full()
        return dimmed(self._gave) if len(self._gave) <= _SHORT_RESULT else []

    def _in_full(self) -> list[Line]:
        if not self._gave:
            return []
        label = Text(Content.styled("gave:", "dim"), INDENT, INDENT)
        return [
            label,
            *(Text(Content(line), _FURTHER, _FURTHER, folded=True) for line in _at_most(self._gave)),
        ]


def _more(count: int) -> list[Line]:
    """Return what is said of lines that are folded away; nothing where there are none."""
    return dimmed([f"▸ {plural(count, 'more line')} · r shows all"]) if count > 0 else []


def _at_most(lines: list[str]) -> list[str]:
    """Return lines for the screen: what is longer than anybody reads here is cut, and says so."""
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"… {plural(len(lines) - _MOST_LINES, 'more line')} are not shown here"]
