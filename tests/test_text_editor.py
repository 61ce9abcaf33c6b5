"""The person's editor: which one it is, what it gets, what comes back, and what is kept when it fails."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from pathlib import Path

import pytest

from skippy_chat.errors import UsageError
from skippy_chat.text_editor import edited, editor_command

pytestmark = pytest.mark.timeout(60)

ENV = {"PATH": os.environ["PATH"]}


def editor(folder: Path, script: str, name: str = "edit") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "drafts"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_visual_goes_before_editor_with_its_arguments(tmp_path: Path) -> None:
    one, other = editor(tmp_path, ":", "one"), editor(tmp_path, ":", "other")
    assert editor_command({**ENV, "VISUAL": f"{one} --wait 'a b'", "EDITOR": str(other)}) == [
        str(one),
        "--wait",
        "a b",
    ]
    assert editor_command({**ENV, "VISUAL": " ", "EDITOR": str(other)}) == [str(other)]


def test_a_usual_one_is_taken_where_none_is_set(tmp_path: Path) -> None:
    editor(tmp_path, ":", "vi")
    assert editor_command({"PATH": str(tmp_path)}) == ["vi"]
    editor(tmp_path, ":", "nano")
    assert editor_command({"PATH": str(tmp_path)}) == ["nano"]


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({}, "No editor is set, and none was found. Set VISUAL or EDITOR"),
        ({"EDITOR": "nowhere-to-be-found -w"}, "EDITOR names nowhere-to-be-found, which is not there."),
        ({"VISUAL": "vi 'x"}, "VISUAL cannot be read"),
    ],
)
def test_none_is_told(tmp_path: Path, env: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        editor_command({"PATH": str(tmp_path), **env})
    assert told in str(refused.value)


def test_what_was_written_comes_back_and_the_file_goes(tmp_path: Path, drafts: Path) -> None:
    seen = tmp_path / "seen"
    script = f'cp "$1" {seen}; stat -c %a "$1" > {seen}.mode; printf "zwei\\r\\nthrée\\n" > "$1"'
    assert edited("eins", [str(editor(tmp_path, script))], ENV) == "zwei\r\nthrée".replace("\r\n", "\n")
    assert seen.read_text() == "eins"
    assert (tmp_path / "seen.mode").read_text().strip() == "600"
    assert not list(drafts.iterdir())


def test_a_line_break_at_the_end_is_the_editors_unless_it_was_there(tmp_path: Path) -> None:
    adds = [str(editor(tmp_path, 'echo >> "$1"'))]
    assert edited("x", adds, ENV) == "x"
    assert edited("x\n", adds, ENV) == "x\n\n"


def test_a_failure_keeps_what_was_written(tmp_path: Path, drafts: Path) -> None:
    with pytest.raises(UsageError) as refused:
        edited("old", [str(editor(tmp_path, 'echo new > "$1"; exit 3'))], ENV)
    assert "ended with code 3, so the text stays as it was." in refused.value.message
    kept = re.search(r"in (\S+)$", refused.value.hint)
    assert kept is not None
    assert Path(kept[1]).read_text() == "new\n"
    assert drafts in Path(kept[1]).parents


def test_a_failure_without_a_change_keeps_nothing(tmp_path: Path, drafts: Path) -> None:
    with pytest.raises(UsageError) as refused:
        edited("old", [str(editor(tmp_path, "exit 1"))], ENV)
    assert refused.value.hint == ""
    assert not list(drafts.iterdir())


def test_what_cannot_be_run_or_read_is_told(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    with pytest.raises(UsageError, match="could not be run"):
        edited("x", [str(plain)], ENV)
    with pytest.raises(UsageError, match="cannot be read"):
        edited("x", [str(editor(tmp_path, 'rm "$1"'))], ENV)
    with pytest.raises(UsageError, match="cannot be read"):
        edited("x", [str(editor(tmp_path, 'printf "\\377" > "$1"'))], ENV)


def test_interrupts_are_the_editors_and_an_end_ends_it(tmp_path: Path) -> None:
    """As a terminal sends SIGINT to both; SIGTERM goes to us alone, and the editor must not outlive it."""
    interrupted = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.append(1))
    try:
        script = 'kill -INT $PPID; echo more >> "$1"'
        assert edited("text\n", [str(editor(tmp_path, script))], ENV) == "text\nmore\n"
        with pytest.raises(UsageError, match="signal 15"):
            edited("text", [str(editor(tmp_path, "kill -TERM $PPID; exec sleep 50"))], ENV)
        assert not interrupted
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted == [1]
    finally:
        signal.signal(signal.SIGINT, before)
