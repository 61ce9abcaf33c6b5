"""The plain face: role words, full sentences, no colour, no cursor movement; for pipes, screen readers, dumb terminals.

Invariant: standard output gets text and line breaks only, nothing that moves, colours or erases.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from typing import TextIO

from skippy_chat.completions.source import Offers
from skippy_chat.interrupts import StopOnInterrupt
from skippy_chat.repl.calls import CallLines, Look
from skippy_chat.repl.face import Leave, Stopped
from skippy_chat.repl.quoting import complete, quoted
from skippy_chat.repl.typed import drop_typed
from skippy_chat.talk import line_width, on_terminal
from skippy_chat.text.sanitise import Sanitiser, sanitise
from skippy_chat.text.wrap import WordWrap, wrapped
from skippy_chat.tool_wording import result_sentence

_PASTE_GAP = 0.05
_TWICE_WITHIN = 1.0


class PlainFace:
    """Lines in, lines out. Each line is a message; a backslash at its end joins the next line to it."""

    def __init__(self, stdin: TextIO, stdout: TextIO, monotonic: Callable[[], float]) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._monotonic = monotonic
        self._person = on_terminal(stdin)
        self._interrupted_at: float | None = None
        self._busy: StopOnInterrupt | None = None

    @property
    def sentences(self) -> bool:
        """Always: this face is read aloud or read later."""
        return True

    @property
    def can_ask(self) -> bool:
        """Whether a person types, and sees what is asked."""
        return self._person and on_terminal(self._stdout)

    def offer(self, offers: Callable[[str, int], Offers | None]) -> None:
        """Do nothing: a line reader has no Tab key of ours."""

    def ask(self, prefill: str = "", *, draft: str = "") -> str:
        """Return the next message; when editing, the old text is shown and the next line replaces it.

        An empty line sends a draft, and any other takes its place.
        """
        if draft:
            self.say(f"Typed before, and not sent: {draft}")
            self.say("An empty line sends it; anything else takes its place.")
        if prefill:
            self.say(f"The message was: {prefill}")
        label = "New text: " if prefill else "You: "
        pressed = False
        while True:
            try:
                if pressed:
                    pressed = False
                    self._interrupted()
                self._write(label)
                text = self._message()
            except KeyboardInterrupt:
                pressed = True  # told above: another one may come while that is written
                continue
            if not self._person:
                self._write(f"{sanitise(text)}\n")
            if prefill or text.strip():
                return text
            if draft:
                return draft

    def confirm(self, question: str) -> bool:
        """Ask on a line; an empty answer, or Ctrl-C, is a no."""
        if not self.can_ask:
            return False
        self._write(f"{sanitise(question)} [y/N] ")
        try:
            return self._line().strip().lower() in {"y", "yes"}
        except KeyboardInterrupt:
            self._write("\n")
            return False

    def choose(self, question: str) -> str:
        """Ask on a line; Ctrl-C and Ctrl-D stop the turn. What was typed ahead is dropped, and that is said."""
        interrupt = self._busy or StopOnInterrupt(lambda: None, second_kills=False)
        try:
            with interrupt.raising():
                if drop_typed(self._stdin):
                    self.say("What was typed before this question does not answer it, and is dropped.")
                if interrupt.fired:
                    raise Stopped
                self._write(f"{wrapped(sanitise(question), self._width())} ")
                return self._line()
        except (KeyboardInterrupt, Leave) as error:
            self._write("\n")
            raise Stopped from error

    def foretell(self, foresee: Callable[[str], str]) -> None:
        """Do nothing: a line is seen only when it is ended."""

    def keep_drafts(self, keep: Callable[[str], object]) -> None:
        """Do nothing: a line is seen only when it is ended."""

    def remember(self, messages: Sequence[str]) -> None:
        """Do nothing: a line reader has no Up key of ours."""

    def say(self, text: str) -> None:
        """Write a text and its line break."""
        self._write(f"{wrapped(sanitise(text), self._width())}\n")

    def status(self, text: str) -> None:
        """Write a sentence about the turn."""
        self.say(text)

    @property
    def can_clip(self) -> bool:
        """Never: a plain terminal is sent no control sequence, and a pipe has no clipboard."""
        return False

    def clip(self, sequence: str) -> None:
        """Do nothing."""

    def quote(self, text: str) -> int:
        """Write foreign text complete, a bar before every row; nothing is out of sight where it is read aloud."""
        for row in quoted(complete(text), self._width(), mark="| ", more=": "):
            self._write(f"{row}\n")
        return 0

    def answer(self) -> PlainAnswer:
        """Begin an answer with its role word."""
        return PlainAnswer(self._write, self._width)

    def calls(self) -> CallLines:
        """Begin to show a turn's calls, in words."""
        return CallLines(self._write, self._width, Look("Call: ", "Output: ", result_sentence))

    def busy(self, cancel: Callable[[], None]) -> StopOnInterrupt:
        """Let Ctrl-C stop the answer; Esc is not watched, since lines are read whole."""
        self._busy = StopOnInterrupt(cancel, second_kills=False)
        return self._busy

    def _interrupted(self) -> None:
        now = self._monotonic()
        if self._interrupted_at is not None and now - self._interrupted_at <= _TWICE_WITHIN:
            raise Leave
        self._interrupted_at = now
        self._write("\nPress Ctrl-C again to leave.\n")

    def _message(self) -> str:
        lines = [self._line()]
        while lines[-1].endswith("\\") or self._pasted():
            lines[-1] = lines[-1].removesuffix("\\")
            try:
                lines.append(self._line())
            except Leave:
                break
        return "\n".join(lines)

    def _line(self) -> str:
        try:
            line = self._stdin.readline()
        except UnicodeDecodeError as error:
            self.say(f"A line is not UTF-8 text (byte {error.start}); reading stopped there.")
            raise Leave from error
        if not line:
            raise Leave
        return line.rstrip("\r\n")

    def _pasted(self) -> bool:
        """Tell whether more lines are there already: a terminal hands a paste over faster than hands type."""
        return self._person and bool(select.select([self._stdin], [], [], _PASTE_GAP)[0])

    def _width(self) -> int | None:
        return line_width(self._stdout)

    def _write(self, text: str) -> None:
        if text:
            self._stdout.write(text)
            self._stdout.flush()


class PlainAnswer:
    """An answer after the words ``Assistant:`` and, where it reasons, ``Reasoning:``."""

    def __init__(self, write: Callable[[str], None], width: Callable[[], int | None]) -> None:
        self._write = write
        self._clean = Sanitiser()
        self._wrap = WordWrap(width)
        self._role = ""
        self._last = "\n"

    def text(self, piece: str) -> None:
        """Write more of the answer."""
        self._put("Assistant", piece)

    def reasoning(self, piece: str) -> None:
        """Write more of the reasoning."""
        self._put("Reasoning", piece)

    def end(self) -> None:
        """Complete the last line."""
        self._emit(self._wrap.feed(self._clean.flush()) + self._wrap.flush())
        if self._last != "\n":
            self._emit(self._wrap.feed("\n"))

    def _put(self, role: str, piece: str) -> None:
        if role != self._role:
            self.end()
            self._clean = Sanitiser()
            self._role = role
            self._emit(self._wrap.feed(f"{role}: "))
        self._emit(self._wrap.feed(self._clean.feed(piece)))

    def _emit(self, text: str) -> None:
        if text:
            self._write(text)
            self._last = text[-1]
