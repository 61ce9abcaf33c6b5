"""Keys that come at the edge of something: when an answer ends, when a prompt is about to be written."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import sys
import termios
from collections.abc import Iterator

import pytest
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from skippy_chat.interrupts import StopOnInterrupt
from skippy_chat.repl.face import Leave
from skippy_chat.repl.keys import BusyKeys
from skippy_chat.repl.plain import PlainFace

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal"),
]


class Terminal:
    def __init__(self, master: int, slave: int, keyboard: Input) -> None:
        self.master, self.slave, self.keyboard = master, slave, keyboard
        self.raw = contextlib.ExitStack()

    def reads_lines(self) -> bool:
        return bool(termios.tcgetattr(self.slave)[3] & termios.ICANON)

    def busy(self) -> BusyKeys:
        interrupt = StopOnInterrupt(lambda: None, second_kills=False)
        return BusyKeys(self.keyboard, DummyOutput(), interrupt, self.raw)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, slave = pty.openpty()
    with os.fdopen(os.dup(slave)) as stdin:
        yield Terminal(master, slave, create_input(stdin))
    os.close(master)
    os.close(slave)


def test_keys_stay_keys_from_an_answer_to_the_next_prompt(terminal: Terminal) -> None:
    assert terminal.reads_lines()
    with terminal.busy():
        assert not terminal.reads_lines()
    assert not terminal.reads_lines()
    with terminal.busy():  # another turn, and no prompt between them
        pass
    terminal.raw.close()
    assert terminal.reads_lines()


def test_an_answer_that_fails_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    with pytest.raises(ValueError, match="failed"), terminal.busy():
        raise ValueError("failed")
    assert terminal.reads_lines()


def test_what_was_typed_at_the_last_moment_waits_for_the_prompt(terminal: Terminal) -> None:
    with terminal.busy():
        os.write(terminal.master, b"y\r\x04")
    keys = [each.key for each in get_typeahead(terminal.keyboard)]
    assert keys == ["y", Keys.ControlM, Keys.ControlD]
    terminal.raw.close()


def test_what_is_typed_at_the_last_moment_answers_no_question(terminal: Terminal) -> None:
    busy = terminal.busy()
    with busy:
        close = busy._watching.close

        def late() -> None:
            os.write(terminal.master, b"y\r")
            busy._watching.close = close  # type: ignore[method-assign]
            close()

        busy._watching.close = late  # type: ignore[method-assign]
        with busy.paused() as stopped:
            assert not stopped
            os.set_blocking(terminal.slave, False)
            with pytest.raises(BlockingIOError):
                os.read(terminal.slave, 10)
            os.set_blocking(terminal.slave, True)
    assert [each.key for each in get_typeahead(terminal.keyboard)] == ["y", Keys.ControlM]
    terminal.raw.close()


class Interrupted(io.StringIO):
    """Ctrl-C comes just as one of these is written."""

    def __init__(self, *at: str) -> None:
        super().__init__()
        self._at = list(at)

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._at and self._at[0] in text:
            self._at.pop(0)
            raise KeyboardInterrupt
        return written


def test_ctrl_c_while_the_prompt_is_written_is_told() -> None:
    out = Interrupted("You: ")
    assert PlainFace(io.StringIO("hello\n"), out, lambda: 0.0).ask() == "hello"
    assert "Press Ctrl-C again to leave.\nYou: " in out.getvalue()


def test_ctrl_c_twice_leaves_in_order_wherever_it_comes() -> None:
    out = Interrupted("You: ", "Press Ctrl-C again")
    with pytest.raises(Leave):
        PlainFace(io.StringIO("hello\n"), out, lambda: 0.0).ask()
