"""A turn's calls of tools on a screen of lines: the call while it is written, what it writes, how it ended.

Invariant: every call ends with one line that says how; text of models and tools is cleaned here and stays on its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from skippy_chat.events import ApprovalNeeded, ToolCallDelta, ToolFinished, ToolOutput, ToolStarted
from skippy_chat.repl.output import OutputLines
from skippy_chat.repl.quoting import fitted
from skippy_chat.text.sanitise import Sanitiser, sanitise
from skippy_chat.text.wrap import cells, wrapped
from skippy_chat.tool_wording import call_line
from skippy_chat.wording import plural

_WIDEST = 200  # cells of a line where lines have no width
_NARROWEST = 20
_DETAIL = 12
_SPACE = re.compile(r"\s+")  # line breaks of every kind, and what a model indents its arguments with


@dataclass(frozen=True, slots=True)
class Look:
    """How a face marks calls and their output; ``dim`` and ``normal`` are escape sequences, or empty.

    ``live``: a line takes one row of the terminal, and the newest line of long output is overwritten in place.
    """

    call: str
    output: str
    result: Callable[[ToolFinished, float], str]
    dim: str = ""
    normal: str = ""
    live: bool = False


@dataclass(slots=True)
class _Call:
    name: str
    arguments: int = 0
    asked: bool = False
    started_ms: int | None = None
    lines: OutputLines = field(default_factory=OutputLines)


class CallLines:
    """Shows the calls of one turn."""

    def __init__(self, write: Callable[[str], object], width: Callable[[], int | None], look: Look) -> None:
        self._write = write
        self._width = width
        self._look = look
        self._calls: dict[str, _Call] = {}
        self._open: str | None = None  # the call whose line is being written
        self._room = 0
        self._clean = Sanitiser(strip_format=True)
        self._spaced = False
        self._live = False

    def delta(self, event: ToolCallDelta) -> int:
        """Show more of a call; once its line is full, return how many characters of arguments there are."""
        call = self._calls.get(event.call)
        if call is None:
            self.end()
            call = self._calls[event.call] = _Call(event.name)
            self._begin(event.call, call)
        call.arguments += len(event.arguments)
        if self._open == event.call:
            self._more(self._clean.feed(event.arguments))
        return 0 if self._open == event.call else call.arguments

    def asked(self, event: ApprovalNeeded) -> None:
        """Note that a person was shown all of a call, so that its diff need not be shown again."""
        self._calls.setdefault(event.call, _Call(event.name)).asked = True

    def started(self, event: ToolStarted) -> None:
        """Show that a call runs, if its line was not shown already."""
        self.end()
        if event.call not in self._calls:
            self._calls[event.call] = _Call(event.name)
            line = one_line(call_line(event.name, event.arguments))
            self._line(fitted(f"{self._look.call}{line}", self._columns()))
        self._calls[event.call].started_ms = event.at_ms

    def output(self, event: ToolOutput) -> None:
        """Show some of what a call writes."""
        call = self._calls.get(event.call)
        if call is None:
            return
        self.end()
        for line in call.lines.feed(event.text):
            self._output(call, line)
        if self._look.live and call.lines.newest:
            self._write(f"{self._look.dim}{self._told(call, call.lines.newest)}{self._look.normal}")
            self._live = True

    def finished(self, event: ToolFinished) -> None:
        """Show how a call ended."""
        self.end()
        call = self._calls.pop(event.call, _Call(event.name))
        for line in call.lines.finish():
            self._output(call, line)
        if event.detail and not call.asked:
            self._detail(call, event.detail)
        ran = 0 if call.started_ms is None else event.at_ms - call.started_ms
        line = wrapped(one_line(self._look.result(event, ran)), self._width())
        if event.status == "ok":
            self._line(line)
        else:
            self._write(f"{line}\n")

    def end(self) -> None:
        """Complete the last line."""
        if self._open is not None:
            self._more(self._clean.flush())
        if self._open is not None:
            self._close()
        if self._live:
            self._write("\r\x1b[K")
            self._live = False

    def _begin(self, name: str, call: _Call) -> None:
        label = fitted(f"{self._look.call}{one_line(call.name)} ", self._columns())
        self._clean = Sanitiser(strip_format=True)
        self._write(f"{self._look.dim}{label}")
        self._open, self._room, self._spaced = name, self._columns() - cells(label), True

    def _more(self, text: str) -> None:
        text = _SPACE.sub(" ", text)
        if self._spaced:
            text = text.removeprefix(" ")
        if not text:
            return
        self._spaced = text[-1] == " "
        if cells(text) < self._room:
            self._write(text)
            self._room -= cells(text)
            return
        self._write(fitted(text, self._room - 1) if self._room > 2 else "…")
        self._close()

    def _close(self) -> None:
        self._write(f"{self._look.normal}\n")
        self._open = None

    def _detail(self, call: _Call, detail: str) -> None:
        lines = sanitise(detail, strip_format=True).splitlines()
        for line in lines[:_DETAIL]:
            self._output(call, line)
        if len(lines) > _DETAIL:
            self._output(call, f"… {plural(len(lines) - _DETAIL, 'line')} not shown …")

    def _output(self, call: _Call, line: str) -> None:
        self._line(self._told(call, line))

    def _told(self, call: _Call, line: str) -> str:
        """Return a line of output behind its mark, and behind the call's name where several run at once."""
        running = [each for each in self._calls.values() if each.started_ms is not None]
        name = f"{one_line(call.name)}: " if len(running) > 1 else ""
        return fitted(f"{self._look.output}{name}{line}", self._columns())

    def _line(self, text: str) -> None:
        self._write(f"{self._look.dim}{text}{self._look.normal}\n")

    def _columns(self) -> int:
        width = self._width()
        return max(_NARROWEST, width - 1) if width is not None and self._look.live else _WIDEST


def one_line(text: str) -> str:
    """Return foreign text clean, on one line, and without what cannot be seen."""
    return " ".join(sanitise(text, strip_format=True).split())
