"""Standard error: progress that waits, erases itself and stays off pipes."""

from __future__ import annotations

import io

import pytest

from skippy_chat.talk import Talk, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_progress_waits_a_second_and_is_erased(clock: Clock) -> None:
    stream = Terminal()
    talk = Talk(stream, clock)
    talk.progress("Reading", 1, 1000)
    clock.now = 0.99
    talk.progress("Reading", 500, 1000)
    assert stream.getvalue() == ""
    clock.now = 1.0
    talk.progress("Reading", 600, 1000)
    talk.progress("Reading", 601, 1000)
    assert stream.getvalue() == "\r\x1b[KReading: 600 of 1,000"
    talk.note("Done.")
    assert stream.getvalue() == "\r\x1b[KReading: 600 of 1,000\r\x1b[KDone.\n"


def test_each_step_has_its_own_second(clock: Clock) -> None:
    stream = Terminal()
    talk = Talk(stream, clock)
    talk.progress("Loading", 1, 2)
    clock.now = 0.9
    talk.progress("Reading", 1, 2)
    clock.now = 1.8
    talk.progress("Reading", 2, 2)
    assert stream.getvalue() == ""


def test_a_step_of_unknown_length(clock: Clock) -> None:
    stream = Terminal()
    talk = Talk(stream, clock)
    talk.progress("Loading\x1b[2J", 0, 0)
    clock.now = 2.0
    talk.progress("Loading\x1b[2J", 0, 0)
    assert stream.getvalue() == "\r\x1b[KLoading …"


def test_no_progress_without_a_terminal(clock: Clock) -> None:
    stream = io.StringIO()
    talk = Talk(stream, clock)
    for clock.now in (0.0, 5.0, 10.0):
        talk.progress("Reading", 1, 2)
    talk.aside("Only for people.")
    assert stream.getvalue() == ""
    talk.error("Two\nlines\x07.")
    assert stream.getvalue() == "skippy-chat: Two lines.\n"


def test_plain_progress_is_a_line_every_few_seconds(clock: Clock) -> None:
    stream = Terminal()
    talk = Talk(stream, clock, plain=True)
    for clock.now in (0.0, 1.0, 2.0, 5.9, 6.0):
        talk.progress("Reading", round(clock.now), 10)
    talk.clear()
    assert stream.getvalue() == "Reading: 1 of 10.\nReading: 6 of 10.\n"


def test_a_closed_stream_hides_nothing(clock: Clock) -> None:
    stream = Terminal()
    talk = Talk(stream, clock)
    stream.close()
    talk.error("Said to nobody.")


@pytest.mark.parametrize(
    ("env", "terminal", "expected"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "unknown"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "0"}, True, False),
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, False, True),
        ({"TERM": "dumb", "FORCE_COLOR": "3"}, False, True),
        ({"TERM": "xterm", "FORCE_COLOR": "0"}, False, False),
        ({"TERM": "xterm", "FORCE_COLOR": "", "CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
        ({"TERM": "xterm", "CLICOLOR": "0"}, True, False),
        ({"TERM": "xterm", "CLICOLOR": "1"}, True, True),
        ({"TERM": "xterm", "CLICOLOR": "1"}, False, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True, True),
    ],
)
def test_the_usual_variables_decide_about_colour(env: dict[str, str], terminal: bool, expected: bool) -> None:
    assert wants_colour(env, Terminal() if terminal else io.StringIO()) is expected


def test_there_is_no_colour_without_a_stream() -> None:
    assert not wants_colour({"TERM": "xterm"}, None)


def test_only_the_programs_name_is_red_and_a_plain_one_is_not(clock: Clock) -> None:
    stream = Terminal()
    talk = Talk(stream, clock, colour=True)
    talk.error("It went\x1b[31m wrong.")
    assert stream.getvalue() == "\x1b[31mskippy-chat:\x1b[39m It went wrong.\n"
    talk.be_plain()
    talk.error("Again.")
    assert stream.getvalue().endswith("\nskippy-chat: Again.\n")
