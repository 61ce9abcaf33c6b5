"""The REPL on a session that this test's own process writes: a real lock, held across processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Session
from tests.repl.conftest import Open
from tests.repl.screen import ROOT

pytestmark = pytest.mark.timeout(180)

WRITES = f"Another skippy-chat (process {os.getpid()}) writes this session."


@dataclass
class Writer:
    """The session S and the right to write it."""

    history: History
    session: Session
    lock: SessionLock

    def say(self, question: str, answer: str) -> str:
        asked = self.history.append(self.session.id, self.history.head(self.session.id), "user", question)
        return self.history.append(self.session.id, asked.id, "assistant", answer).id


@pytest.fixture
def writer(tmp_path: Path, folders: dict[str, str]) -> Iterator[Writer]:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with History.open(data / "history.db", now=lambda: 1_700_000_000_000) as history:
        session = history.create_session(folder=ROOT, title="S")
        with SessionLock(data / "locks", session.id) as lock:
            writer = Writer(history, session, lock)
            writer.say("France?", "Paris\x1b]0;owned\x07.")
            yield writer


def chat(text: str, folders: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fakes.program", "answers", "repl", "--session", "S"],
        cwd=ROOT,
        env={**folders, "LANG": "C.UTF-8"},
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_pipe_reads_and_never_sends(writer: Writer, folders: dict[str, str]) -> None:
    done = chat("hello\n/history\n/session\n/edit 1\n/help\n", folders)
    assert done.returncode == 2  # the last refusal: /edit
    assert done.stdout.startswith(
        f"Session S: 2 messages. {WRITES}\nYou: France?\nAssistant: Paris.\nRead-only: "
    )
    assert "You 1: France?\n\nAssistant: Paris.\n" in done.stdout
    assert "This branch: 2 messages" in done.stdout
    assert f"skippy-chat: The message was not sent: {WRITES} /fork goes on in a copy of it.\n" in done.stderr
    assert "There is no command /edit in a session that is read-only." in done.stderr
    assert "First answer." not in done.stdout
    assert len(writer.history.branch(writer.history.head(writer.session.id))) == 2


def test_a_message_in_a_pipe_that_was_not_sent_is_a_failure(writer: Writer, folders: dict[str, str]) -> None:
    assert chat("hello\n", folders).returncode == 1
    assert chat("/history\n", folders).returncode == 0


def test_another_session_from_a_read_only_one(writer: Writer, folders: dict[str, str]) -> None:
    with History.open(
        Path(folders["SKIPPY_DATA_DIR"]) / "history.db", now=lambda: 1_700_000_000_001
    ) as history:
        other = history.create_session(folder=ROOT, title="T")
        history.append(other.id, None, "user", "Where?")
    done = chat("/find FRANCE\n/sessions\n/sessions T\nhello\n", folders)
    assert "Turn 1, You: France?\n1 place in 1 message." in done.stdout
    assert "Session 1: T; 1 message.\nSession 2, this one: S; 2 messages.\n" in done.stdout
    assert "You: hello\nAssistant: First answer.\n" in done.stdout
    assert done.returncode == 0
    assert chat("/new\nhello\n", folders).stdout.endswith(
        "in 0.4 seconds. Written at 47.1 tokens per second.\nYou: "
    )


def test_fork_in_a_pipe_goes_on_with_the_lines_after_it(writer: Writer, folders: dict[str, str]) -> None:
    head = writer.history.head(writer.session.id)
    done = chat("/fork mine\nhello\n", folders)
    assert done.returncode == 0
    assert f"a copy at {head} named 'mine'\n" in done.stderr
    assert "You: hello\nAssistant: First answer.\n" in done.stdout


def test_on_a_terminal_a_message_offers_the_fork(writer: Writer, terminal: Open) -> None:
    screen = terminal("answers", "repl", "--session", "S")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for("Send this to a copy of it instead? [y/N]")
    screen.type("n")
    screen.wait_for("The message was not sent:")
    screen.wait_for_prompt(2)
    screen.type("hello again\r")
    screen.wait_for(lambda text: text.count("[y/N]") == 2)
    screen.type("y")
    screen.wait_for("First answer.")
    screen.wait_for_prompt(3)
    screen.type("\x04")
    assert screen.ended() == 0
    assert b"owned" not in screen.raw


@pytest.mark.parametrize("key", ["\r", "\x1b", "\x03", "\x04", "x"])
def test_any_other_key_is_a_no(writer: Writer, terminal: Open, key: str) -> None:
    screen = terminal("answers", "repl", "--session", "S")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for("[y/N]")
    screen.type(key)
    screen.wait_for("The message was not sent:")
    assert "First answer." not in screen.text


def test_on_a_plain_terminal_too(writer: Writer, terminal: Open) -> None:
    screen = terminal("answers", "repl", "--plain", "--session", "S")
    screen.wait_for("You:")
    screen.type("hello\n")
    screen.wait_for("[y/N]")
    screen.type("\n")
    screen.wait_for("The message was not sent:")
    screen.wait_for(lambda text: text.endswith("You:"))
    screen.type("hello\n")
    screen.wait_for(lambda text: text.count("[y/N]") == 2)
    screen.type("yes\n")
    screen.wait_for("Assistant: First answer.")
    assert b"\x1b" not in screen.raw


def test_retry_and_what_the_writer_says_meanwhile(writer: Writer, terminal: Open) -> None:
    screen = terminal("answers", "repl", "--session", "S")
    screen.wait_for_prompt(1)
    writer.say("Italy?", "Rome.")
    assert "Rome." not in screen.text
    screen.type("/history\r")
    screen.wait_for("Assistant: Rome.")
    screen.wait_for_prompt(2)
    screen.type("/retry\r")
    screen.wait_for(lambda text: text.count("Read-only: ") == 2)
    screen.wait_for_prompt(3)
    writer.lock.close()
    screen.type("/retry\r")
    screen.wait_for("a new conversation")
    screen.wait_for_prompt(4)
    screen.type("hello\r")
    screen.wait_for("First answer.")


@pytest.mark.parametrize("word", ["quit", "exit"])
def test_quit_leaves_a_read_only_session(writer: Writer, terminal: Open, word: str) -> None:
    screen = terminal("answers", "repl", "--session", "S")
    screen.wait_for_prompt(1)
    screen.type(f"/{word}\r")
    assert screen.ended() == 0


def test_tab_completes_the_commands_of_a_read_only_session(writer: Writer, terminal: Open) -> None:
    screen = terminal("answers", "repl", "--session", "S")
    screen.wait_for_prompt(1)
    screen.type("/for\t")
    screen.wait_for("> /fork")
    screen.type("\x03/reg\t\t")
    screen.wait_for("> /reg")
    screen.type("enerate\r")
    screen.wait_for("There is no command /regenerate in a session that is read-only.")
    writer.lock.close()
    screen.wait_for_prompt(2)
    screen.type("/ret\t")
    screen.wait_for("> /retry")
    screen.type("\r")
    # From now on it is an ordinary one.
    screen.wait_for("a new conversation")
    screen.wait_for_prompt(3)
    screen.type("/reg\t")
    screen.wait_for("> /regenerate")
