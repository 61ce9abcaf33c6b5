"""The person's own editor in a real terminal: what it gets, how the terminal is left, what goes on meanwhile."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.repl.conftest import Open
from tests.repl.screen import Screen
from tests.tui.test_pty import assert_restored, terminal

__all__ = ["terminal"]  # the fixture

pytestmark = pytest.mark.timeout(90)

ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"


def editor(folder: Path, script: str) -> str:
    """Return a program that a test waits in: it says EDITING, and goes on at a line."""
    path = folder / "edit"
    path.write_text(
        f'#!/bin/sh\nstty -a | grep -q " icanon" && echo EDITING "$(cat "$1")"\nread line\n{script}\n'
    )
    path.chmod(0o755)
    return str(path)


def in_editor(screen: Screen) -> int:
    """Wait for the editor, and return where in the output the app let the terminal go."""
    screen.wait_for(
        lambda _text: (
            screen.raw.rfind(ENTERED) < (left := screen.raw.rfind(LEFT)) and b"EDITING" in screen.raw[left:]
        )
    )
    assert screen.echoes
    return len(screen.raw)


def back(screen: Screen, start: int) -> None:
    """Wait for the app after the editor, whose line was typed."""
    screen.wait_for(lambda text: ENTERED in screen.raw[start:] and " ready" in text and not screen.echoes)


def test_the_text_in_the_box_goes_to_the_editor_and_back(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("answers", EDITOR=editor(tmp_path, 'printf "%s\\nand more\\n" "$line" >> "$1"'))
    screen.wait_for(" ready")
    screen.type("begun \x07")  # at once: the letters before the key are in
    start = in_editor(screen)
    assert "EDITING begun" in screen.text
    screen.type("here\n")
    back(screen, start)
    screen.wait_for("begun here")
    screen.wait_for("and more")
    screen.wait_for("Enter sends it.")
    assert "First answer." not in screen.text
    screen.type("!\r")
    screen.wait_for("First answer.")
    screen.wait_for("and more!")
    screen.type("\x04")
    assert screen.ended() == 0
    assert_restored(screen)


def test_a_message_is_edited_in_the_editor_as_a_new_branch(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("answers", VISUAL=editor(tmp_path, 'echo "$line" > "$1"'))
    screen.wait_for(" ready")
    screen.type("hello\r")
    screen.wait_for("First answer.")
    screen.wait_for(" ready")
    screen.type("/editor 1\r")
    start = in_editor(screen)
    assert "EDITING hello" in screen.text
    screen.type("good day\n")
    back(screen, start)
    screen.wait_for("Editing · Enter answers it anew")
    screen.type("\r")
    screen.wait_for("2/2")
    screen.wait_for("» good day")


def test_an_answer_of_the_model_is_edited_in_the_editor_and_asks_nothing(
    terminal: Open, tmp_path: Path
) -> None:
    screen = terminal("answers", VISUAL=editor(tmp_path, 'echo "$line" > "$1"'))
    screen.wait_for(" ready")
    screen.type("hello\r")
    screen.wait_for("First answer.")
    screen.wait_for(" ready")
    screen.type("\x1b[Z")  # Shift-Tab
    screen.wait_for("▌ First answer.")
    screen.type("E")
    start = in_editor(screen)
    assert "EDITING First answer." in screen.text
    screen.type("my own answer\n")
    back(screen, start)
    screen.wait_for("Editing what the model said")
    screen.type("\r")
    screen.wait_for("2/2")
    screen.wait_for("Edited by you.")
    screen.wait_for("my own answer")


def test_an_answer_goes_on_meanwhile_and_nothing_is_lost(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("wordy", EDITOR=editor(tmp_path, 'echo "$line" > "$1"'))
    screen.wait_for(" ready")
    screen.type("hello\r\x07")
    start = in_editor(screen)
    screen.type("next\n")
    back(screen, start)
    screen.wait_for("extraordinary weather")
    screen.wait_for("next")
    screen.type("\r")
    screen.wait_for("» next")


@pytest.mark.parametrize(
    ("script", "told"),
    [("exit 3", "ended with code 3"), ("kill -9 $$", "ended with signal 9"), ('rm "$1"', "cannot be read")],
)
def test_an_editor_that_fails_changes_nothing(terminal: Open, tmp_path: Path, script: str, told: str) -> None:
    screen = terminal("answers", EDITOR=editor(tmp_path, script))
    screen.wait_for(" ready")
    screen.type("kept text")
    screen.wait_for("kept text")
    screen.type("\x07")
    start = in_editor(screen)
    screen.type("\n")
    back(screen, start)
    screen.wait_for(told)
    screen.wait_for("kept text")
    screen.type("\r")
    screen.wait_for("First answer.")
    screen.wait_for("» kept text")


def test_what_was_written_is_kept_where_an_editor_fails(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("answers", EDITOR=editor(tmp_path, 'echo "$line" > "$1"; exit 1'), TMPDIR=str(tmp_path))
    screen.wait_for(" ready")
    screen.type("\x07")
    start = in_editor(screen)
    screen.type("a long thought\n")
    screen.wait_for(lambda text: ENTERED in screen.raw[start:] and "Esc closes" in text)
    assert "ended with code 1" in screen.text
    kept = list(tmp_path.glob("skippy-chat-*/message.md"))
    assert [each.read_text("utf-8") for each in kept] == ["a long thought\n"]


def test_no_editor_is_said_without_letting_the_terminal_go(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("answers", EDITOR="nowhere-to-be-found")
    screen.wait_for(" ready")
    screen.type("kept")
    screen.wait_for("kept")
    screen.type("\x07")
    screen.wait_for("names nowhere-to-be-found, which is not there")
    screen.wait_for("export EDITOR=nano")
    assert LEFT not in screen.raw
    screen.type("\x1b")
    screen.wait_for(lambda text: "Esc closes" not in text)
    screen.type("\r")
    screen.wait_for("First answer.")


def test_interrupts_and_a_new_size_in_the_editor(terminal: Open, tmp_path: Path) -> None:
    """Ctrl-C there is the editor's; the app fills the window that there is when it is back."""
    screen = terminal("answers", EDITOR=editor(tmp_path, 'echo "$line" > "$1"'))
    screen.wait_for(" ready")
    screen.type("\x07")
    start = in_editor(screen)
    screen.type("\x03")
    back(screen, start)
    screen.wait_for("ended with signal 2")
    screen.type("\x07")
    start = in_editor(screen)
    screen.resize(40, 120)
    screen.type("wide\n")
    back(screen, start)
    screen.wait_for("wide")
    screen.wait_for(lambda text: any("─" * 115 in line for line in text.splitlines()))
    screen.type("\r")
    screen.wait_for("First answer.")


def test_a_signal_in_the_editor_ends_both_in_order(terminal: Open, tmp_path: Path) -> None:
    screen = terminal("answers", EDITOR=editor(tmp_path, ""))
    screen.wait_for(" ready")
    screen.type("\x07")
    in_editor(screen)
    screen.kill(signal.SIGTERM)
    assert screen.ended() == 128 + signal.SIGTERM
    assert_restored(screen)


@pytest.mark.skipif(shutil.which("vi") is None, reason="there is no vi")
def test_vi(terminal: Open) -> None:
    screen = terminal("answers", EDITOR="env TERM=vt220 vi -u NONE")
    screen.wait_for(" ready")
    screen.type("from the box")
    screen.wait_for("from the box")
    screen.type("\x07")
    screen.wait_for("message.md")
    start = len(screen.raw)
    screen.type("A, from vi\x1b:wq\r")
    back(screen, start)
    screen.wait_for("from the box, from vi")
    screen.type("\x07")
    screen.wait_for(lambda text: "message.md" in text and "~" in text)
    start = len(screen.raw)
    screen.type("ddilost\x1b:cq\r")
    back(screen, start)
    screen.wait_for("ended with code 1")
    screen.wait_for("from the box, from vi")
    screen.type("\r")
    screen.wait_for("First answer.")
    screen.type("\x04")
    assert screen.ended() == 0
    assert_restored(screen)
