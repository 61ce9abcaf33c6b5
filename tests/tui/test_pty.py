"""The app in a real terminal: what bytes reach it, and how it is left."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.repl.conftest import Open
from tests.repl.screen import DEFAULT_SIGNALS, Screen

pytestmark = pytest.mark.timeout(180)

LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOWED_CURSOR = b"\x1b[?25h"
UNCONTROLLED = (
    DEFAULT_SIGNALS + "import os, sys; os.execv(sys.executable, [sys.executable, '-m', *sys.argv[1:]])"
)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    with ExitStack() as stack:

        def open_terminal(scenario: str, *arguments: str, **env: str) -> Screen:
            return stack.enter_context(Screen(scenario, *arguments, env={**folders, **env}))

        yield open_terminal


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Open]:
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    with ExitStack() as stack:

        def open_terminal(scenario: str, *arguments: str, **env: str) -> Screen:
            screen = Screen(scenario, *arguments, env={**folders, **env}, program="tests.repl.tool_program")
            return stack.enter_context(screen)

        yield open_terminal


def assert_restored(screen: Screen) -> None:
    assert screen.raw.rindex(LEFT_ALTERNATE_SCREEN) > screen.raw.rindex(b"\x1b[?1049h")
    assert screen.raw.rindex(SHOWED_CURSOR) > screen.raw.rindex(b"\x1b[?25l")
    assert screen.echoes


def test_a_turn_and_leaving(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for(" ready")
    screen.type("hello\r")
    screen.wait_for("First answer.")
    screen.wait_for("reused 1,101 of 1,105 tokens")
    screen.type("\x04")
    assert screen.ended() == 0
    assert_restored(screen)


def test_hostile_text_never_reaches_the_terminal(terminal: Open) -> None:
    screen = terminal("hostile")
    screen.wait_for(" ready")
    start = len(screen.raw)
    screen.type("hello\r")
    screen.wait_for("okred end")
    assert b"ZXZpbA" not in screen.raw
    screen.paste("pasted\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m")
    screen.wait_for("pasted")
    screen.type("\r")
    screen.wait_for(lambda text: text.count("okred end") == 2)
    screen.wait_for(" ready")
    raw = screen.raw[start:]
    assert b"\x1b]52" not in raw
    assert b"\x1b[2J" not in raw
    assert b"\x1b]0;" not in raw
    assert b"\x07" not in raw
    assert "\x9b" not in raw.decode()
    screen.type("\x04")
    assert screen.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_leaves_the_terminal_in_order(terminal: Open, *, number: signal.Signals, busy: bool) -> None:
    screen = terminal("endless")
    screen.wait_for(" ready")
    assert not screen.echoes
    if busy:
        screen.type("tell\r")
        screen.wait_for("Once upon a time")
    screen.kill(number)
    assert screen.ended() == 128 + number
    assert_restored(screen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_typed_a_moment_before_a_signal_is_kept(terminal: Open, *, number: signal.Signals) -> None:
    screen = terminal("drafting")
    screen.wait_for(" ready")
    screen.type("half a thought")
    screen.wait_for("» half a thought")
    screen.kill(number)
    assert screen.ended() == 128 + number
    assert b"kept: half a thought" in screen.raw


def test_a_terminal_that_goes_away_ends_the_program(terminal: Open) -> None:
    screen = terminal("endless")
    screen.wait_for(" ready")
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    os.close(screen._master)
    assert screen._process.wait(timeout=30) == 128 + signal.SIGHUP


def test_a_terminal_that_goes_away_without_a_signal_ends_the_program(
    terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the terminal is not the controlling one: nobody sends SIGHUP then."""
    monkeypatch.setattr("tests.repl.screen._TAKE", UNCONTROLLED)
    screen = terminal("endless")
    screen.wait_for(" ready")
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    os.close(screen._master)
    assert screen._process.wait(timeout=30) == 128 + signal.SIGHUP


def test_an_engine_that_does_not_stop_cannot_keep_the_program(terminal: Open) -> None:
    screen = terminal("deaf")
    screen.wait_for(" ready")
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    screen.kill(signal.SIGTERM)
    screen.wait_for("asked to stop")
    screen.kill(signal.SIGTERM)
    assert screen.ended() == -signal.SIGTERM
    assert_restored(screen)


@pytest.mark.parametrize(("term", "word"), [("dumb", "repl --plain"), ("", "skippy-chat run")])
def test_a_dumb_terminal_is_refused_in_one_line(terminal: Open, term: str, word: str) -> None:
    screen = terminal("answers", TERM=term)
    assert screen.ended() == 2
    told = screen.raw.decode().replace("\r\n", "\n")
    assert told.count("\n") == 1
    assert word in told
    assert "\x1b" not in told


@pytest.mark.parametrize("theme", ["dark", "light", "ansi-dark", "ansi-light", "nord"])
@pytest.mark.parametrize("told", [{"NO_COLOR": "1"}, {"CLICOLOR": "0"}], ids=str)
def test_no_color_leaves_the_colours_alone(terminal: Open, told: dict[str, str], theme: str) -> None:
    screen = terminal("answers", SKIPPY_THEME=theme, **told)
    screen.wait_for(" ready")
    screen.type("hello\r")
    screen.wait_for("First answer.")
    screen.type("\x04")
    assert screen.ended() == 0
    assert re.search(rb"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;[0-9;]+)m", screen.raw) is None


def test_a_new_session_is_named_by_the_option(terminal: Open) -> None:
    screen = terminal("answers", "--session", "voyage")
    screen.wait_for(" ready")
    screen.resize(40, 120)
    screen.type("hello\r")
    screen.wait_for("First answer.")
    screen.wait_for(" ready")  # before, the key would stop the turn
    screen.type("\x03")
    screen.wait_for("again to leave")
    screen.type("\x03\x03")  # should a second be over by now, these two leave
    assert screen.ended() == 0


def test_nothing_hostile_of_calls_and_questions_reaches_the_terminal(tools: Open) -> None:
    screen = tools("hostile", "--new")
    screen.wait_for(" ready")
    start = len(screen.raw)
    screen.type("hello\r")
    screen.wait_for("asking")
    screen.wait_for("more below")
    assert "⟪U+001B⟫]52;c;ZXZpbA" in screen.text
    screen.type("\x1b[F")
    screen.wait_for("yes, once")
    screen.type("d")
    screen.wait_for("Why not?")
    screen.paste("not so")
    screen.wait_for("not so")
    screen.type("\x1b")
    screen.wait_for("yes, once")
    screen.type("y")
    if "Several keys" in screen.wait_for(lambda text: " ready" in text or "Several keys" in text):
        time.sleep(1.0)  # for the program it came together with the "d"; a yes has to come alone
        screen.type("y")
        screen.wait_for(" ready")
    screen.type("\x0f")
    screen.wait_for("gave:")
    screen.type("/undo\r")
    screen.wait_for("Put back: notes/a.txt")
    screen.type("/tools\r")
    screen.wait_for("Evaluate arithmetic.")
    raw = screen.raw[start:].replace(b"\x1b]22;default\x07", b"")  # the pointer's shape, which Textual sets
    for forbidden in (b"\x1b]52", b"\x1b[2J", b"\x1b]0;", b"\x07", b"\x9b31m"):
        assert forbidden not in raw
    assert not re.search("[\x80-\x9f]", raw.decode())
    screen.type("q")
    screen.wait_for(lambda text: "Esc closes" not in text)
    screen.type("\x04")
    assert screen.ended() == 0
    assert_restored(screen)


def test_a_paste_with_escapes_is_one_message(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for(" ready")
    screen.paste("first\x1bx\rsecond\x1b]52;c;x\x07\x1b[A third\r")
    screen.wait_for("second third")
    screen.type("!")
    screen.wait_for("!")
    assert "First answer." not in screen.text
    screen.type("\r")
    screen.wait_for("First answer.")


def test_a_paste_with_escapes_answers_no_question(tools: Open) -> None:
    screen = tools("asks", "--new")
    screen.wait_for(" ready")
    screen.type("hello\r")
    screen.wait_for("yes, once")
    screen.paste("\x1b]52;c;so yes\x07 \x1b y")
    screen.type("\x1b")
    screen.wait_for("interrupted before it ran")
    screen.wait_for(" ready")


def test_a_signal_while_a_question_is_open_leaves_the_terminal_in_order(tools: Open) -> None:
    screen = tools("asks", "--new")
    screen.wait_for(" ready")
    screen.type("hello\r")
    screen.wait_for("May run_command run?")
    screen.kill(signal.SIGTERM)
    assert screen.ended() == 128 + signal.SIGTERM
    assert_restored(screen)


def test_the_end_of_a_long_answer_rings_once_and_not_where_it_is_turned_off(terminal: Open) -> None:
    for notify, rings in (("bell", 1), ("off", 0)):
        screen = terminal("answers", "--new", "-c", "notify_after=0", "-c", f"notify={notify}")
        screen.wait_for(" ready")
        start = len(screen.raw)
        screen.type("hello\r")
        screen.wait_for("reused 1,101 of 1,105 tokens")
        screen.wait_for(" ready")
        screen.type("\x04")
        assert screen.ended() == 0
        assert screen.raw[start:].count(b"\x07") == rings


def test_a_file_that_is_named_goes_along_and_a_prompt_of_ones_own_is_used(
    terminal: Open, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.md").write_text("Buy milk.\x1b]52;c;ZXZpbA==\x07\n")
    (tmp_path / "config" / "prompts").mkdir(parents=True, mode=0o700)
    (tmp_path / "config" / "prompts" / "sum.md").write_text("Sum up $1.")
    screen = terminal("answers", "--new", "--workspace", str(tmp_path / "work"))
    screen.wait_for(" ready")
    screen.type("/sum @no")
    screen.wait_for("notes.md")
    screen.type("\t\r")
    screen.wait_for("First answer.")
    screen.wait_for("Sum up @notes.md.")
    screen.wait_for("Buy milk.")
    assert b"\x1b]52" not in screen.raw
    screen.type("\x04")
    assert screen.ended() == 0
