"""/history N, /goto, /find and /copy on the plain face; what goes to a real terminal's clipboard on a real one."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from skippy_chat.repl.services import Services
from tests.fakes.conversation import FakeConversation, Turn
from tests.repl.chatting import Drawing, chat, services
from tests.repl.conftest import Open

pytestmark = pytest.mark.timeout(180)

CODE = "Look:\n```python\nprint(1)\n```\nor\n```\ntwo\nlines\n```\n"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a program that sets the clipboard; on a busy machine it may need that."""
    monkeypatch.setattr("skippy_chat.clipboard._PATIENCE", 60.0)


def talked() -> FakeConversation:
    """Two turns: a harbour, and code."""
    conversation = FakeConversation()
    last = None
    for role, text in (
        ("user", "Where is the Harbour?"),
        ("assistant", "The harb\u00f4ur\x1b]0;owned\x07 lies\nto the **south**."),
        ("user", "Show code."),
        ("assistant", CODE),
    ):
        last = conversation.add(role, text, last).id  # type: ignore[arg-type]
    return conversation


def test_history_from_a_message_on() -> None:
    out = chat(talked(), "/history 2\n").out
    assert "You 2: Show code.\n\nAssistant: Look:\n" in out
    assert "Harbour" not in out
    assert chat(talked(), "/history 3\n").err == (
        "skippy-chat: There is no message 3. Give a number from 1 to 2.\n"
    )


def test_goto_shows_one_turn_in_full() -> None:
    out = chat(talked(), "/goto 1\n").out
    assert "You 1: Where is the Harbour?\n\nAssistant: The harb\u00f4ur lies\nto the **south**.\n" in out
    assert "Show code." not in out
    assert "You 2: Show code." in chat(talked(), "/goto\n").out
    assert "There is no message to go to yet." in chat(FakeConversation(), "/goto\n").err


def test_find_tells_lines_by_turn_and_counts() -> None:
    out = chat(talked(), "/find HARBOUR\n").out
    assert "Turn 1, You: Where is the Harbour?\nTurn 1, Assistant: The harb\u00f4ur lies\n" in out
    assert "2 places in 2 messages. /goto N shows turn N.\n" in out
    assert "\x1b" not in out


def test_find_sees_through_emphasis_and_says_when_there_is_nothing() -> None:
    conversation = talked()
    assert (
        "Turn 1, Assistant: The harb\u00f4ur lies\n1 place in 1 message."
        in chat(conversation, "/find to the south\n").out
    )
    assert "\u201cnever\u201d stands nowhere in this branch.\n" in chat(conversation, "/find never\n").out
    assert "The words to look for are missing." in chat(conversation, "/find\n").err


def test_a_long_line_is_shown_around_the_place() -> None:
    conversation = FakeConversation()
    conversation.add("user", f"{'a ' * 100}needle{' b' * 100}", None)
    out = chat(conversation, "/find needle\n", kind=Drawing).out
    line = next(each for each in out.splitlines() if each.startswith("  1  You: \u2026a a"))
    assert "needle" in line
    assert line.endswith("b\u2026")
    assert len(line) < 110


def clipboard(folder: Path) -> Services:
    """Return services whose clipboard is the file ``clip``, set by a program called xclip."""
    program = folder / "xclip"
    program.write_text(f"#!/bin/sh\ncat > {folder / 'clip'}\n")
    program.chmod(0o755)
    return services(folder, {"PATH": f"{folder}:/bin:/usr/bin", "DISPLAY": ":1"})


@pytest.mark.parametrize(
    ("command", "text"), [("/copy", CODE), ("/copy code 1", "print(1)"), ("/copy code 2", "two\nlines")]
)
def test_copy_gives_the_source(tmp_path: Path, command: str, text: str) -> None:
    chatted = chat(talked(), f"{command}\n", clipboard(tmp_path))
    assert (tmp_path / "clip").read_text() == text
    assert "(xclip).\n" in chatted.out


def test_several_blocks_of_code_are_listed(tmp_path: Path) -> None:
    chatted = chat(talked(), "/copy code\n", clipboard(tmp_path))
    assert (
        "Block 1, python, 1 line: print(1)\nBlock 2, 2 lines: two\n/copy code N copies one of them.\n"
        in chatted.out
    )
    assert not (tmp_path / "clip").exists()


def test_copy_that_cannot_be(tmp_path: Path) -> None:
    nothing = services(tmp_path, {"PATH": str(tmp_path)})
    chatted = chat(talked(), "/copy\n/copy this\n/copy code 3\n", nothing)
    assert "Not copied: no program that sets the clipboard was found" in chatted.err
    assert "There is no this to copy." in chatted.err
    assert "There is no block of code 3. Give a number from 1 to 2." in chatted.err
    assert "Copied" not in chatted.out
    assert "\x1b" not in chatted.out
    assert "There is no answer to copy yet." in chat(FakeConversation(), "/copy\n", nothing).err
    plain = FakeConversation([Turn(("No code.",))])
    assert "The last answer has no block of code." in chat(plain, "hello\n/copy code\n", nothing).err


def test_a_terminal_is_sent_the_text_encoded(terminal: Open) -> None:
    screen = terminal("hostile", PATH="/nowhere")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for_prompt(2)
    screen.type("/copy\r")
    screen.wait_for("Sent to the terminal's clipboard: the answer: 1 line, 9 characters.")
    assert b"\x1b]52;c;" + base64.b64encode(b"okred end") + b"\x07" in screen.raw
