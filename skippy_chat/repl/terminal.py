"""The terminal face: prompt_toolkit while something is typed, the plain scrollback while an answer streams.

Invariant: no prompt is active while text streams, so nothing is batched, redrawn or torn.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import is_searching
from prompt_toolkit.formatted_text import AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from skippy_chat.completions.source import Offers
from skippy_chat.errors import UsageError
from skippy_chat.interrupts import StopOnInterrupt
from skippy_chat.repl.calls import CallLines, Look, one_line
from skippy_chat.repl.completing import OffersCompleter
from skippy_chat.repl.drafts import Drafts
from skippy_chat.repl.ending import ends_in_order
from skippy_chat.repl.face import Leave, Stopped
from skippy_chat.repl.foresight import Foresight
from skippy_chat.repl.keys import BusyKeys, set_aside
from skippy_chat.repl.quoting import complete, fitted, quoted
from skippy_chat.talk import line_width, wants_colour
from skippy_chat.text.sanitise import Sanitiser, sanitise
from skippy_chat.text.wrap import WordWrap, wrapped
from skippy_chat.text_editor import edited, editor_command
from skippy_chat.tool_wording import result_line

_TWICE_WITHIN = 1.0
_QUESTION_ROWS = 8  # what stands around a quotation, about
_DIM, _NORMAL = "\x1b[2m", "\x1b[0m"
_STYLE = Style.from_dict({"mark": "bold", "hint": "italic"})


class TerminalFace:
    """A prompt with editing keys; answers stream below it into the scrollback."""

    def __init__(
        self,
        keyboard: Input,
        screen: Output,
        stdout: TextIO,
        monotonic: Callable[[], float],
        *,
        env: Mapping[str, str],
        colour: bool,
    ) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._stdout = stdout
        self._monotonic = monotonic
        self._env = env
        self._colour = colour
        self._editing = False
        self._interrupted_at: float | None = None
        self._busy: BusyKeys | None = None
        # Raw from an answer to the end of the next prompt, or an Enter or Ctrl-D in between would come as another key.
        self._raw = contextlib.ExitStack()
        atexit.register(self._raw.close)
        self._session: PromptSession[str] = PromptSession(
            message=self._mark,
            multiline=True,
            prompt_continuation="  ",
            placeholder=self._hint,
            history=InMemoryHistory(),
            key_bindings=self._bindings(),
            input=keyboard,
            output=screen,
            style=_STYLE,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            complete_while_typing=False,
            complete_in_thread=True,
            enable_suspend=True,
        )

        self._drafts = Drafts(self._session.default_buffer)
        self._foresight = Foresight(self._session.default_buffer)

    @property
    def sentences(self) -> bool:
        """Never: short lines, dimmed."""
        return False

    @property
    def can_ask(self) -> bool:
        """Always: there is a terminal at both ends."""
        return True

    def offer(self, offers: Callable[[str, int], Offers | None]) -> None:
        """Complete by Tab."""
        self._session.completer = OffersCompleter(offers)

    def ask(self, prefill: str = "", *, draft: str = "") -> str:
        """Return the next message, edited from ``prefill``."""
        self._editing = bool(prefill)
        self._drafts.pause(paused=self._editing)
        try:
            with ends_in_order() as running:
                return self._session.prompt(default=prefill or draft, pre_run=running)
        except (EOFError, KeyboardInterrupt) as error:
            raise Leave from error
        except BaseException:  # the terminal is gone, or the program is to end
            self._drafts.keep_now()
            raise
        finally:
            self._raw.close()
            self._drafts.pause(paused=True)
            self._foresight.end()

    def foretell(self, foresee: Callable[[str], str]) -> None:
        """Show it above the next prompt."""
        self._foresight.begin(foresee)

    def keep_drafts(self, keep: Callable[[str], object]) -> None:
        """Call ``keep`` with what is typed, a second after the last key."""
        self._drafts.keep = keep

    def confirm(self, question: str) -> bool:
        """Ask for one key; only y says yes."""
        keys = KeyBindings()

        @keys.add("<any>")
        @keys.add("enter")
        @keys.add("c-c")
        @keys.add("c-d")
        @keys.add("escape", eager=True)
        def _answered(event: KeyPressEvent) -> None:
            event.app.exit(result=event.data.lower() == "y")

        answer: PromptSession[bool] = PromptSession(
            message=[("", f"{sanitise(question)} [y/N] ")],
            key_bindings=keys,
            input=self._keyboard,
            output=self._screen,
        )
        with set_aside(self._keyboard), ends_in_order() as running:
            return bool(answer.prompt(pre_run=running))

    def choose(self, question: str) -> str:
        """Ask for a line that ends with Enter; Ctrl-C, Ctrl-D and Esc stop the turn."""
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add("c-d")
        @keys.add("<sigint>")
        @keys.add("escape", eager=True)
        def _stop(event: KeyPressEvent) -> None:
            event.app.exit(exception=Stopped)

        with set_aside(self._keyboard) if self._busy is None else self._busy.paused() as stopped:
            if stopped:
                raise Stopped
            answer: PromptSession[str] = PromptSession(
                message=[("", f"{sanitise(question)} ")],
                key_bindings=keys,
                input=self._keyboard,
                output=self._screen,
                color_depth=None if self._colour else ColorDepth.DEPTH_1_BIT,
            )
            try:
                with ends_in_order() as running:
                    return answer.prompt(pre_run=running)
            except (EOFError, KeyboardInterrupt) as error:
                raise Stopped from error

    def remember(self, messages: Sequence[str]) -> None:
        """Let the Up key walk these messages."""
        self._session.default_buffer.history = InMemoryHistory(list(messages))

    def say(self, text: str) -> None:
        """Write a text and its line break."""
        self._write(f"{wrapped(sanitise(text), self._width())}\n")

    def status(self, text: str) -> None:
        """Write a dimmed line."""
        clean = wrapped(sanitise(text), self._width())
        self._write(f"{_DIM}{clean}{_NORMAL}\n" if self._colour else f"{clean}\n")

    @property
    def can_clip(self) -> bool:
        """Always."""
        return True

    def clip(self, sequence: str) -> None:
        """Send it as it is: it is the program's own, and holds the text encoded."""
        self._write(sequence)

    def quote(self, text: str) -> int:
        """Write foreign text complete, behind bars that the text itself cannot draw at the start of a row."""
        rows = quoted(complete(text), self._width(), mark="│ ", more="┆ ")
        self._write("\n".join(rows) + "\n")
        return max(0, len(rows) - self._screen.get_size().rows + _QUESTION_ROWS)

    def answer(self) -> TerminalAnswer:
        """Begin an answer."""
        return TerminalAnswer(self._write, self._width, colour=self._colour)

    def calls(self) -> CallLines:
        """Begin to show a turn's calls."""
        dim, normal = (_DIM, _NORMAL) if self._colour else ("", "")
        look = Look("→ ", "│ ", result_line, dim, normal, live=True)
        return CallLines(self._write, self._width, look)

    def busy(self, cancel: Callable[[], None]) -> AbstractContextManager[StopOnInterrupt]:
        """Let Ctrl-C and Esc stop the answer; what else is typed waits for the next prompt."""
        interrupt = StopOnInterrupt(cancel, second_kills=False)
        if sys.platform == "win32":
            return interrupt  # its console cannot be waited on beside a pipe: Ctrl-C only
        self._busy = BusyKeys(self._keyboard, self._screen, interrupt, self._raw)
        return self._busy

    async def _in_editor(self, buffer: Buffer) -> None:
        """Let the person's editor have the text of the line, which is sent only when they say so."""

        def change() -> str:
            try:
                return edited(buffer.text, editor_command(self._env), self._env)
            except UsageError as error:
                self.status(str(error))
                return buffer.text

        text = await run_in_terminal(change)
        buffer.document = Document(text, len(text))

    def _width(self) -> int | None:
        return line_width(self._stdout)

    def _write(self, text: str) -> None:
        if text:
            self._stdout.write(text)
            self._stdout.flush()

    def _mark(self) -> AnyFormattedText:
        """Return the prompt; what is foreseen stands above it, and is gone once the text is sent."""
        line = one_line(self._foresight.line)
        shown = bool(line) and not self._session.app.is_done
        mark: StyleAndTextTuples = [("class:mark", "> ")]
        return [("class:hint", f"{fitted(line, self._columns())}\n"), *mark] if shown else mark

    def _columns(self) -> int:
        return max(1, self._screen.get_size().columns - 1)

    def _hint(self) -> AnyFormattedText:
        recent = self._interrupted_at
        if recent is not None and self._monotonic() - recent <= _TWICE_WITHIN:
            return [("class:hint", "Press Ctrl-C again to leave")]
        if self._editing:
            return [("class:hint", "Enter with nothing keeps the message as it was")]
        return []

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        typing = ~is_searching  # Ctrl-R has keys of its own until it ends

        @keys.add("enter", filter=typing)
        def _submit(event: KeyPressEvent) -> None:
            if self._editing or event.current_buffer.text.strip():
                event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter", filter=typing)
        @keys.add("c-j", filter=typing)
        def _newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-x", "c-e")
        def _editor(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._in_editor(event.current_buffer))

        @keys.add("c-c", filter=typing)
        @keys.add("<sigint>", filter=typing)
        def _interrupt(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.text:
                buffer.append_to_history()
                buffer.reset()
                self._interrupted_at = None
                return
            now = self._monotonic()
            if self._interrupted_at is not None and now - self._interrupted_at <= _TWICE_WITHIN:
                event.app.exit(exception=EOFError)
                return
            self._interrupted_at = now

        return keys


class TerminalAnswer:
    """An answer in the terminal's own colours, its reasoning dimmed above it."""

    def __init__(
        self, write: Callable[[str], None], width: Callable[[], int | None], *, colour: bool
    ) -> None:
        self._write = write
        self._wrap = WordWrap(width)
        self._colour = colour
        self._clean = Sanitiser()
        self._reasoning = False
        self._last = "\n"

    def text(self, piece: str) -> None:
        """Write more of the answer."""
        if self._reasoning:
            self._turn(reasoning=False)
        self._emit(self._wrap.feed(self._clean.feed(piece)))

    def reasoning(self, piece: str) -> None:
        """Write more of the reasoning."""
        if not self._reasoning:
            self._turn(reasoning=True)
        self._emit(self._wrap.feed(self._clean.feed(piece)))

    def end(self) -> None:
        """Complete the last line."""
        self._emit(self._wrap.feed(self._clean.flush()) + self._wrap.flush())
        if self._last != "\n":
            self._emit(self._wrap.feed("\n"))
        if self._reasoning and self._colour:
            self._write(_NORMAL)
        self._reasoning = False

    def _turn(self, *, reasoning: bool) -> None:
        self.end()
        self._clean = Sanitiser()
        self._reasoning = reasoning
        if not self._colour:
            self._emit(self._wrap.feed("(reasoning)\n" if reasoning else "(answer)\n"))
        elif reasoning:
            self._write(_DIM)

    def _emit(self, text: str) -> None:
        if text:
            self._write(text)
            self._last = text[-1]


def open_terminal(
    stdin: TextIO, stdout: TextIO, *, env: Mapping[str, str], monotonic: Callable[[], float]
) -> TerminalFace:
    """Return a face on this terminal; without colour it has only the terminal's own."""
    screen: Output
    if sys.platform == "win32":
        screen = create_output(stdout)
    else:
        # Without cursor position requests: slow lines answer them late, and some terminals never.
        screen = Vt100_Output(stdout, lambda: _size(stdout), term=env.get("TERM"), enable_cpr=False)
    colour = wants_colour(env, stdout)
    return TerminalFace(create_input(stdin), screen, stdout, monotonic, env=env, colour=colour)


def _size(stdout: TextIO) -> Size:
    columns, rows = os.get_terminal_size(stdout.fileno())
    return Size(rows=rows or 24, columns=columns or 80)
