"""One session, two programs: the second reads what the first writes, forks it, or takes its place when it has ended."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.end_to_end.conftest import Program
from tests.repl.screen import Screen

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(180)]

OPTIONS = ("--temperature", "0", "--threads", "1", "--max-tokens", "8", "--ctx", "1024")


@dataclass
class First:
    """The program that writes session S, driven line by line."""

    process: subprocess.Popen[str]

    def say(self, text: str) -> None:
        """Send a message and wait for its answer's end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith(("Reused", "Read")):
                return
        raise AssertionError("the first program ended")

    def end(self) -> None:
        """Let it leave."""
        self.process.communicate(timeout=60)


@contextmanager
def first(program: Program) -> Iterator[First]:
    with program.held("repl", "--session", "S", "--plain", *OPTIONS) as process:
        assert process.stdout is not None
        # It greets, so the session is open and locked.
        assert process.stdout.readline().startswith("Session S")
        try:
            yield First(process)
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def app(program: Program, *arguments: str) -> Iterator[Screen]:
    env = {key: value for key, value in program.environment().items() if key != "NO_COLOR"}
    env["TERM"] = "xterm-256color"
    with Screen(*arguments, *OPTIONS, env=env, program="skippy_chat") as screen:
        yield screen


def test_the_app_reads_forks_and_takes_over(program: Program) -> None:
    with first(program) as one, app(program, "--session", "S") as screen:
        one.say("Remember the word harbour.")
        screen.wait_for(f"Another skippy-chat (process {one.process.pid}) writes this session.")
        if "Remember the word harbour." not in screen.text:
            screen.type("u")
        screen.wait_for("Remember the word harbour.")
        one.say("And the word voyage.")
        assert "voyage" not in screen.text
        screen.type("hello\r")
        screen.type("u")
        screen.wait_for("And the word voyage.")
        screen.type("t")
        screen.wait_for("Nothing new.")  # the try is over, and a second one will be heard
        one.end()
        screen.type("t")
        screen.wait_for(" ready")
        screen.type("And tide.\r")
        screen.wait_for("reused")
        screen.wait_for(" ready")
        screen.type("\x04")
        assert screen.ended() == 0
    shown = program.call("sessions", "show", "S").stdout
    assert shown.count("\nYou:\n") == 3
    assert "hello" not in shown


def test_a_fork_in_the_app_leaves_the_session_to_its_writer(program: Program) -> None:
    program.run("--session", "S", *OPTIONS, "Remember the word harbour.")
    with first(program) as one, app(program, "--session", "S") as screen:
        screen.wait_for("Read-only")
        screen.type("f")
        screen.wait_for("This is a copy")
        screen.type("And voyage.\r")
        screen.wait_for("reused")
        screen.wait_for(" ready")
        one.say("And tide.")
        screen.type("\x04")
        assert screen.ended() == 0
        one.end()
    shown = program.call("sessions", "show", "S").stdout
    assert "voyage" not in shown
    assert "tide" in shown
    assert len(json.loads(program.call("sessions", "list", "--json").stdout)["sessions"]) == 2


def test_the_repl_reads_and_forks(program: Program) -> None:
    with first(program) as one:
        one.say("Remember the word harbour.")
        done = program.call("repl", "--session", "S", *OPTIONS, stdin="hello\n/fork mine\nAnd voyage.\n")
        assert done.returncode == 1  # hello was not sent
        for line in ("/fork\n", "/fork kept\n"):
            assert program.call("repl", "--session", "S", *OPTIONS, stdin=line).returncode == 0
        assert f"(process {one.process.pid}) writes this session." in done.stderr
        assert "You: Remember the word harbour.\nAssistant: " in done.stdout
        one.say("And tide.")
        one.end()
    names = [
        each["title"] for each in json.loads(program.call("sessions", "list", "--json").stdout)["sessions"]
    ]
    assert sorted(names) == ["S", "kept", "mine"]  # not the copy without a name in which nothing was said
    mine = program.call("sessions", "show", "mine").stdout
    assert mine.count("\nYou:\n") == 2
    assert "And voyage." in mine
    shown = program.call("sessions", "show", "S").stdout
    assert "hello" not in shown + mine
    assert shown.count("\nYou:\n") == 2


def test_opening_and_leaving_without_a_word_leaves_no_session(program: Program) -> None:
    for arguments in (("repl",), ("repl", "--session", "S"), ("repl", "--continue")):
        done = program.call(*arguments, *OPTIONS, stdin="/quit\n")
        assert done.returncode == (1 if "--continue" in arguments else 0), done.stderr
    assert program.call("sessions", "list", "--all").stderr == "No session is stored.\n"
    program.run("--session", "S", *OPTIONS, "Hello.")
    assert program.call("repl", "--session", "S", *OPTIONS, stdin="/quit\n").returncode == 0
    assert "S " in program.call("sessions", "list", "--all").stdout
