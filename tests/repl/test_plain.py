"""The plain face: pipes, dumb terminals, ``--plain``; text and line breaks only."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.repl.conftest import Open
from tests.repl.screen import ROOT

pytestmark = pytest.mark.timeout(180)

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
REUSED = "Reused 1,101 of 1,105 tokens from disk, in 0.4 seconds. Written at 47.1 tokens per second.\n"


def chat(scenario: str, text: str, folders: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fakes.program", scenario, "repl"],
        cwd=ROOT,
        env={**folders, "LANG": "C.UTF-8", "TERM": "xterm-256color"},
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_line_of_a_pipe_is_a_message(folders: dict[str, str]) -> None:
    done = chat("answers", "hello\n\nmore \\\nof it\n", folders)
    assert done.returncode == 0
    assert done.stderr == ""
    _, _, turns = done.stdout.partition("commands.\n")
    assert turns == (
        f"You: hello\nAssistant: First answer.\n{REUSED}"
        "You: \nYou: more \nof it\nAssistant: Cold.\n"
        "Read 1,103 tokens: nothing stored, in 8.0 seconds. Written at 46.0 tokens per second.\n"
        "You: "
    )


def test_commands_and_an_edit_in_a_pipe(folders: dict[str, str]) -> None:
    done = chat("answers", "first\n/edit\nsecond\n/branch\n/quit\nnever\n", folders)
    assert done.returncode == 0
    assert "The message was: first\nNew text: second\nAssistant: Cold.\n" in done.stdout
    assert "Branch 1, this one: You: second, then Assistant: Cold.\n" in done.stdout
    assert "never" not in done.stdout


def test_hostile_text_in_a_pipe(folders: dict[str, str]) -> None:
    done = chat("hostile", "hi\x1b]52;c;x\x07 \x9b31m\n/history\n/branch\n", folders)
    assert "Assistant: okred end\n" in done.stdout
    assert CONTROL.search(done.stdout) is None
    assert CONTROL.search(done.stderr) is None


def test_a_failed_turn_is_the_exit_code_of_a_pipe(folders: dict[str, str]) -> None:
    done = chat("failing", "hello\n", folders)
    assert done.returncode == 3
    assert done.stderr == "skippy-chat: The worker ended. Say it again.\n"
    assert "Assistant: Half\n" in done.stdout


def test_an_unknown_command_in_a_pipe(folders: dict[str, str]) -> None:
    done = chat("answers", "/nothing\n", folders)
    assert done.returncode == 2
    assert "There is no command /nothing." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "env"), [(("repl",), {"TERM": "dumb"}), (("repl", "--plain"), {}), (("--plain",), {})]
)
def test_a_plain_terminal_gets_no_escape(
    terminal: Open, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    screen = terminal("reasoning", *arguments, **env)
    screen.wait_for("You:")
    screen.type("hello\n")
    screen.wait_for("Reasoning: Two and two.\nAssistant: So: 4.\nReused 1,101")
    screen.wait_for(lambda text: text.endswith("You:"))
    screen.type("\x04")
    assert screen.ended() == 0
    assert b"\x1b" not in screen.raw


def test_lines_pasted_into_a_plain_terminal_are_one_message(terminal: Open) -> None:
    screen = terminal("answers", "repl", "--plain")
    screen.wait_for("You:")
    screen.type("one\ntwo\n")
    screen.wait_for("First answer.")
    screen.wait_for(lambda text: text.endswith("You:"))
    screen.type("/history\n")
    screen.wait_for("You 1: one\ntwo\n")


def test_ctrl_c_in_a_plain_terminal(terminal: Open) -> None:
    screen = terminal("timeless", "repl", "--plain")
    screen.wait_for("You:")
    screen.type("tell\n")
    screen.wait_for("Once upon a time")
    screen.type("\x03")
    screen.wait_for("Stopped; what was written is kept, marked interrupted.")
    screen.wait_for(lambda text: text.endswith("You:"))
    screen.type("\x03")
    screen.wait_for("Press Ctrl-C again to leave.")
    screen.type("\x03")
    assert screen.ended() == 0


def test_progress_in_a_plain_terminal_is_a_sentence(terminal: Open) -> None:
    screen = terminal("slow", "repl", "--plain")
    screen.wait_for("You:")
    screen.type("hello\n")
    screen.wait_for("Read.")
    assert "Reading the prompt: " in screen.text
    assert b"\x1b" not in screen.raw


def test_a_branch_is_told_by_the_question_at_which_it_leaves(folders: dict[str, str]) -> None:
    done = chat("answers", "first\nand then\n/edit 1\nother\n/branch\n/branch 2\n/branch\n", folders)
    assert (
        "Branch 1, this one: You: other, then Assistant: Third answer.\nBranch 2: You: first, then "
        in done.stdout
    )
    assert (
        "Branch 1: You: other, then Assistant: Third answer.\nBranch 2, this one: You: and then, "
        in done.stdout
    )


def test_a_message_that_does_not_fit_says_that_the_next_takes_its_place(folders: dict[str, str]) -> None:
    done = chat("full", "long\nshort\n/history\n", folders)
    assert "skippy-chat: Full by 12 tokens. Use --ctx.\n" in done.stderr
    assert "Not answered: it did not fit the context. What you send next takes its place.\n" in done.stdout
    assert done.stdout.endswith("You 1: short\n\nAssistant: Hello there.\nYou: ")
    assert done.returncode == 4
