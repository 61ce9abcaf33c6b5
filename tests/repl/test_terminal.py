"""The REPL in a real terminal: keys in, what the screen shows out."""

from __future__ import annotations

import re
import signal

import pytest

from tests.repl.conftest import Open

pytestmark = pytest.mark.timeout(180)

LEAVE = "\x04"
CTRL_C = "\x03"
ESC = "\x1b"
UP = "\x1b[A"
ALT_ENTER = "\x1b\r"
CTRL_J = "\n"


def test_a_turn_and_its_reuse_line(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for_prompt(2)
    assert "First answer.\nreused 1,101 of 1,105 tokens · 0.4 s (from disk) · 47.1 tok/s" in screen.text
    screen.type("again\r")
    screen.wait_for_prompt(3)
    assert "Cold.\nread 1,103 tokens: nothing stored · 8.0 s · 46.0 tok/s" in screen.text
    screen.type(LEAVE)
    assert screen.ended() == 0


def test_a_paste_of_two_lines_is_one_message(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.paste("line one\r\nline two")
    screen.wait_for("line two")
    assert "First" not in screen.text
    screen.type("\r")
    screen.wait_for_prompt(2)
    screen.type("/history\r")
    assert "You 1: line one\nline two\n" in screen.wait_for("Assistant: First answer.")


@pytest.mark.parametrize("newline", [ALT_ENTER, CTRL_J])
def test_newline_keys(terminal: Open, newline: str) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type(f"one{newline}two\r")
    screen.wait_for_prompt(2)
    screen.type("/history\r")
    screen.wait_for("You 1: one\ntwo\n")


def test_edit_offers_the_message_and_keeps_the_old_branch(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("first question\r")
    screen.wait_for_prompt(2)
    screen.type("/edit 1\r")
    screen.wait_for(lambda text: text.endswith("> first question"))
    screen.type(" edited\r")
    screen.wait_for("Cold.")
    screen.wait_for_prompt(4)
    screen.type("/branch\r")
    screen.wait_for(
        "* 1  You: first question edited → Assistant: Cold.\n"
        "  2  You: first question → Assistant: First answer."
    )
    screen.wait_for_prompt(5)
    screen.type("/branch 2\r")
    screen.wait_for("You: first question\nAssistant: First answer.")
    screen.wait_for_prompt(6)
    screen.type(UP)
    screen.wait_for(lambda text: text.endswith("> first question"))


def test_an_edit_that_changes_nothing_asks_nothing(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("question\r")
    screen.wait_for_prompt(2)
    screen.type("/edit\r")
    screen.wait_for(lambda text: text.endswith("> question"))
    screen.type(CTRL_C)
    screen.type("\r")
    screen.wait_for("The message stays as it was.")
    assert "Cold." not in screen.text


def test_regenerate(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("/regenerate\r")
    screen.wait_for("There is no answer to regenerate yet.")
    screen.wait_for_prompt(2)
    screen.type("question\r")
    screen.wait_for_prompt(3)
    screen.type("/regenerate\r")
    screen.wait_for("Cold.")
    screen.wait_for_prompt(4)
    screen.type("/branch\r")
    screen.wait_for("* 1  You: question → Assistant: Cold.\n  2  You: question → Assistant: First answer.")


@pytest.mark.parametrize("key", [CTRL_C, ESC])
def test_a_stop_key_keeps_the_partial_answer(terminal: Open, key: str) -> None:
    screen = terminal("endless")
    screen.wait_for_prompt(1)
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    screen.type(key)
    screen.wait_for("Stopped; what was written is kept, marked interrupted.")
    screen.wait_for_prompt(2)
    screen.type("and then\r")
    screen.wait_for("After that.")
    screen.wait_for_prompt(3)
    screen.type(LEAVE)
    assert screen.ended() == 0


def test_keys_that_begin_with_escape_do_not_stop(terminal: Open) -> None:
    screen = terminal("endless")
    screen.wait_for_prompt(1)
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    screen.type("\x1b[D\x1b[C")
    screen.type("typed ahead")
    screen.paste("and\npasted")
    screen.type(CTRL_C)
    # What was typed meanwhile waits in the next prompt, the paste as one.
    screen.wait_for("> typed aheadand\n  pasted")


def test_a_second_ctrl_c_gives_up_on_an_engine_that_does_not_stop(terminal: Open) -> None:
    screen = terminal("deaf")
    screen.wait_for_prompt(1)
    screen.type("tell\r")
    screen.wait_for("Once upon a time")
    screen.type(CTRL_C)
    screen.wait_for("asked to stop")
    screen.type(CTRL_C)
    assert screen.ended() == 130
    assert screen.echoes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_an_ended_process_leaves_the_terminal_in_order(
    terminal: Open, *, number: signal.Signals, busy: bool
) -> None:
    screen = terminal("endless")
    screen.wait_for_prompt(1)
    assert not screen.echoes
    if busy:
        screen.type("tell\r")
        screen.wait_for("Once upon a time")
    screen.kill(number)
    assert screen.ended() == 128 + number
    assert screen.echoes


def test_ctrl_c_clears_the_text_and_up_brings_it_back(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("half a thought")
    screen.wait_for("half a thought")
    screen.type(CTRL_C)
    screen.wait_for(lambda text: text.splitlines()[-1] == ">")
    screen.type(UP)
    screen.wait_for(lambda text: text.endswith("> half a thought"))


def test_ctrl_c_twice_leaves(terminal: Open) -> None:
    screen = terminal("timeless")
    screen.wait_for_prompt(1)
    screen.type(CTRL_C)
    screen.wait_for("Press Ctrl-C again to leave")
    screen.type(CTRL_C)
    assert screen.ended() == 0


@pytest.mark.parametrize("word", ["quit", "exit"])
def test_quit(terminal: Open, word: str) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type(f"/{word}\r")
    assert screen.ended() == 0


def test_an_unknown_command_names_the_closest(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("/histroy\r")
    screen.wait_for("Did you mean /history?")
    screen.wait_for_prompt(2)
    screen.type("//etc\r")
    screen.wait_for("First answer.")
    screen.wait_for_prompt(3)
    screen.type("/history\r")
    screen.wait_for("You 1: /etc")


def test_a_failing_turn_is_told_and_the_chat_goes_on(terminal: Open) -> None:
    screen = terminal("failing")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for("Half\nskippy-chat: The worker ended. Say it again.")
    screen.wait_for_prompt(2)
    screen.type("hello\r")
    screen.wait_for("Whole.")


def test_a_resized_window_keeps_the_prompt(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("some words")
    screen.wait_for("some words")
    screen.resize(20, 40)
    screen.type(" more")
    screen.wait_for("some words more")
    screen.type("\r")
    screen.wait_for("First answer.")


def test_hostile_text_never_reaches_the_terminal(terminal: Open) -> None:
    screen = terminal("hostile", "repl", NO_COLOR="1")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for_prompt(2)
    assert "okred end" in screen.text
    screen.type("/history\r")
    screen.wait_for("Assistant: okred end")
    screen.wait_for_prompt(3)
    screen.type("/branch\r")
    screen.wait_for("* 1  You: hello → Assistant: okred end")
    assert b"\x1b]52" not in screen.raw
    assert b"\x1b[31m" not in screen.raw
    assert "\x9b" not in screen.raw.decode()
    assert b"\x07" not in screen.raw


def test_no_color_leaves_the_colours_alone(terminal: Open) -> None:
    screen = terminal("reasoning", "repl", NO_COLOR="1")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for("(reasoning)\nTwo and two.\n(answer)\nSo: 4.")
    coloured = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|[34]8;[0-9;]+|2)m")
    assert coloured.search(screen.raw) is None


def test_reasoning_is_dimmed(terminal: Open) -> None:
    screen = terminal("reasoning")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for("Two and two.\nSo: 4.")
    assert b"\x1b[2mTwo and two." in screen.raw.replace(b"\r", b"")


def test_a_long_prefill_shows_one_line_that_goes_away(terminal: Open) -> None:
    screen = terminal("slow")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for("Read.")
    assert b"Reading the prompt: 1,024 of 1,024" in screen.raw
    assert "Reading the prompt" not in screen.text


def test_tab_completes_a_command(terminal: Open) -> None:
    screen = terminal("answers")
    screen.wait_for_prompt(1)
    screen.type("/his\t")
    screen.wait_for("> /history")
    screen.type("\r")
    screen.wait_for("Nothing has been said yet.")
