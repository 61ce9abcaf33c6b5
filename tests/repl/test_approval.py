"""Approvals on a real terminal: everything shown first, and nothing but an answer to this question allows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repl.conftest import Open
from tests.repl.screen import Screen

pytestmark = pytest.mark.timeout(180)

CTRL_C, CTRL_D, ESC = "\x03", "\x04", "\x1b"
QUESTION = "Your answer:"
MODES = [("repl",), ("repl", "--plain")]


def begin(screen: Screen, arguments: tuple[str, ...], count: int = 1) -> str:
    """Send a message, and wait for the question about its call."""
    screen.wait_for(lambda text: text.splitlines()[-1:] in ([">"], ["You:"]))
    screen.type("do it\n" if "--plain" in arguments else "do it\r")
    return asked(screen, count)


def asked(screen: Screen, count: int = 1) -> str:
    return screen.wait_for(lambda text: joined(text).count(QUESTION) == count and text.endswith(":"))


def joined(text: str) -> str:
    """Undo the line breaks between words."""
    return " ".join(text.split())


def enter(arguments: tuple[str, ...]) -> str:
    return "\n" if "--plain" in arguments else "\r"


@pytest.mark.parametrize("arguments", MODES)
@pytest.mark.parametrize(
    ("typed", "decided"),
    [
        ("y", "c1 yes once ''"),
        ("s", "c1 yes session ''"),
        ("always", "c1 yes always ''"),
        ("n", "c1 no once ''"),
        ("no, use the other one", "c1 no once 'use the other one'"),
    ],
)
def test_an_answer(tools: Open, arguments: tuple[str, ...], typed: str, decided: str) -> None:
    screen = tools("asks", *arguments)
    text = joined(begin(screen, arguments))
    assert "run_command │ command: make test".replace("│", "|" if "--plain" in arguments else "│") in text
    assert "Running a command needs approval." in text
    assert "from then on:" in text
    assert "decided" not in text
    screen.type(typed + enter(arguments))
    text = screen.wait_for("So.")
    assert f"decided: {decided}\n" in text
    allowed = " yes " in decided
    plain = "--plain" in arguments
    ran = "run_command gave passed" if plain else "✓ run_command · passed"
    denied = "run_command denied: The person" if plain else "⊘ run_command · denied: The person"
    assert (ran in text) == allowed
    assert (denied in text) != allowed


@pytest.mark.parametrize("arguments", MODES)
def test_what_is_no_answer_is_asked_again(tools: Open, arguments: tuple[str, ...]) -> None:
    screen = tools("once", *arguments)
    text = begin(screen, arguments)
    assert "[s]" not in text
    for count, typed in enumerate(("", "yes please", "s", "a", "sure"), 2):
        screen.type(typed + enter(arguments))
        asked(screen, count)
    assert "decided" not in screen.text
    screen.type("y" + enter(arguments))
    screen.wait_for("decided: c1 yes once ''")


# On a plain terminal lines are read whole: Esc is a character like others there.
@pytest.mark.parametrize(
    ("arguments", "key"), [*((mode, key) for mode in MODES for key in (CTRL_C, CTRL_D)), (MODES[0], ESC)]
)
def test_a_stop_key_at_the_question_stops_the_turn(tools: Open, arguments: tuple[str, ...], key: str) -> None:
    plain = "--plain" in arguments
    screen = tools("asks", *arguments)
    begin(screen, arguments)
    screen.type(key)
    text = screen.wait_for("/continue goes on from here.")
    assert "decided" not in text
    assert "Stopped;" in text
    assert ("run_command failed: This call was interrupted before it ran." in joined(text)) == plain
    screen.wait_for(lambda text: text.splitlines()[-1] in {">", "You:"})
    screen.type("and then" + enter(arguments))
    screen.wait_for("After.")


def test_keys_that_begin_with_escape_do_not_stop_at_a_question(tools: Open) -> None:
    screen = tools("asks")
    begin(screen, ("repl",))
    screen.type("o\x1b[Dn\x1b[C\x1b[C\r")
    screen.wait_for("decided: c1 no once ''")


@pytest.mark.parametrize("arguments", MODES)
def test_a_half_typed_yes_and_ctrl_c_is_no_yes(tools: Open, arguments: tuple[str, ...]) -> None:
    screen = tools("asks", *arguments)
    begin(screen, arguments)
    screen.type("y")
    screen.wait_for(lambda text: text.endswith(": y"))
    screen.type(CTRL_C)
    screen.wait_for("/continue goes on from here.")
    assert "decided" not in screen.text


def gated(tmp_path: Path) -> Path:
    os.mkfifo(gate := tmp_path / "gate")
    return gate


def open_gate(gate: Path) -> None:
    gate.write_bytes(b"go")


def test_keys_typed_ahead_answer_nothing_and_wait_for_the_prompt(tools: Open, tmp_path: Path) -> None:
    gate = gated(tmp_path)
    screen = tools("asks", "repl", TEST_GATE=str(gate))
    screen.wait_for_prompt(1)
    screen.type("do it\r")
    screen.wait_for("→ run_command")
    screen.type("y\rdraft")
    open_gate(gate)
    asked(screen)
    screen.type("n\r")
    screen.wait_for("decided: c1 no once ''")
    # They are the next message, and what was begun after it.
    text = screen.wait_for(lambda text: text.endswith("> draft"))
    assert text.count("decided") == 1
    assert "> y\n" in text


def test_what_was_typed_in_one_go_with_the_message_answers_nothing(tools: Open) -> None:
    screen = tools("asks")
    screen.wait_for_prompt(1)
    screen.type("do it\ry\r")
    asked(screen)
    screen.type("n\r")
    text = screen.wait_for("After.")
    assert "decided: c1 no once ''" in text
    assert text.count("decided") == 1
    assert "> y\n" in text


def test_an_answer_pasted_with_more_answers_one_question(tools: Open) -> None:
    screen = tools("twice")
    screen.wait_for_prompt(1)
    screen.type("do it\r")
    asked(screen)
    screen.type("y\ry\r")
    asked(screen, 2)
    screen.type("n\r")
    screen.wait_for("decided: c2 no once ''")
    assert screen.text.count("decided") == 2


@pytest.mark.parametrize("ahead", ["y\ny\n", "y"])
def test_lines_typed_ahead_on_a_plain_terminal_are_dropped(tools: Open, tmp_path: Path, ahead: str) -> None:
    gate = gated(tmp_path)
    screen = tools("asks", "repl", "--plain", TEST_GATE=str(gate))
    screen.wait_for("You:")
    screen.type("do it\n")
    screen.wait_for('Call: run_command {"command": "make test"}')
    screen.type(ahead)
    screen.wait_for(lambda text: text.rstrip().endswith("y"))
    open_gate(gate)
    assert "does not answer it, and is dropped." in joined(asked(screen))
    screen.type("n\n")
    screen.wait_for("decided: c1 no once ''")
    screen.wait_for(lambda text: text.endswith("You:"))
    assert screen.text.count("decided") == 1


def test_a_diff_is_shown_before_and_not_again(tools: Open) -> None:
    screen = tools("writes")
    text = begin(screen, ("repl",))
    assert "│ write_file\n│   path: notes/a.txt\nIt would change:\n│ --- a\n│ +++ b\n│ -old\n│ +new\n" in text
    screen.type("y\r")
    screen.wait_for("So.")
    assert screen.text.count("+new") == 1


def test_a_long_call_says_that_one_must_scroll(tools: Open) -> None:
    screen = tools("long")
    text = begin(screen, ("repl",))
    assert all(f"│   line {number}\n" in text for number in range(60))
    assert "44 rows of it may be out of sight: scroll up to see all." in text
    screen.type("y\r")
    screen.wait_for("So.")


def test_no_row_of_a_call_can_pass_for_the_programs_own(tools: Open) -> None:
    screen = tools("asks")
    screen.resize(24, 20)
    text = begin(screen, ("repl",))
    assert "│ run_command\n│   command: make t\n┆ est\n" in text


@pytest.mark.parametrize(
    ("arguments", "env"), [(("repl",), {"TERM": "dumb"}), (("repl", "--plain"), {}), (("--plain",), {})]
)
def test_a_plain_terminal_gets_no_escape(
    tools: Open, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    screen = tools("writes", *arguments, **env)
    begin(screen, ("--plain",))
    screen.type("y\n")
    screen.wait_for("So.")
    assert b"\x1b" not in screen.raw


def test_no_color_asks_without_colours(tools: Open) -> None:
    screen = tools("asks", "repl", NO_COLOR="1")
    begin(screen, ("repl",))
    screen.type("y\r")
    screen.wait_for("So.")
    assert b"\x1b[2m" not in screen.raw
    assert b"\x1b[3" not in screen.raw.replace(b"\x1b[3J", b"")


def test_a_terminated_program_leaves_the_terminal_in_order_at_a_question(tools: Open) -> None:
    import signal  # noqa: PLC0415

    screen = tools("asks")
    begin(screen, ("repl",))
    screen.kill(signal.SIGTERM)
    assert screen.ended() == 128 + signal.SIGTERM
    assert screen.echoes
    assert b"decided" not in screen.raw
