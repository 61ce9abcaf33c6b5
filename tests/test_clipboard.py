"""The clipboard: which way a text goes, what is written to a terminal, and what is told."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest

from skippy_chat.clipboard import AT_MOST, SURELY, copied, osc52

pytestmark = pytest.mark.timeout(60)


def program(folder: Path, name: str, code: int = 0) -> dict[str, str]:
    """Put a program of that name into a folder; it keeps what it is given, and ends with ``code``."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" > {folder}/args-{name}\ncat > {folder}/took-{name}\nexit {code}\n')
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def bare(folder: Path) -> dict[str, str]:
    return {"PATH": str(folder)}


def payload(sequence: str) -> str:
    found = re.search(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    assert found is not None
    return base64.b64decode(found[1]).decode()


@pytest.mark.parametrize(
    ("name", "env", "platform", "arguments"),
    [
        ("wl-copy", {"WAYLAND_DISPLAY": "wayland-0"}, "linux", ""),
        ("xclip", {"DISPLAY": ":0"}, "linux", "-selection clipboard"),
        ("xsel", {"DISPLAY": ":0"}, "linux", "--clipboard --input"),
        ("pbcopy", {}, "darwin", ""),
        ("tmux", {"TMUX": "/tmp/x,1,0"}, "linux", "load-buffer -w -"),
    ],
)
def test_a_program_that_is_there_takes_it(
    tmp_path: Path, name: str, env: dict[str, str], platform: str, arguments: str
) -> None:
    told = copied("one\ntwö\n", "the answer", {**program(tmp_path, name), **env}, platform=platform)
    assert told.told == f"Copied the answer: 2 lines, 8 characters ({name})."
    assert told.sequence == ""
    assert (tmp_path / f"took-{name}").read_text("utf-8") == "one\ntwö\n"
    assert (tmp_path / f"args-{name}").read_text().strip() == arguments


def test_a_program_that_fails_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path, "xclip", 1)
    env = {**program(tmp_path, "xsel"), "DISPLAY": ":0"}
    assert copied("x", "it", env, platform="linux").told.endswith("(xsel).")
    env = {**program(tmp_path, "xsel", 1), "DISPLAY": ":0"}
    assert payload(copied("x", "it", env, platform="linux").sequence) == "x"


def test_a_program_of_another_screen_is_not_asked(tmp_path: Path) -> None:
    env = {**program(tmp_path, "pbcopy"), "SSH_CONNECTION": "1 2 3 4"}
    assert payload(copied("x", "it", env, platform="darwin").sequence) == "x"
    assert copied("x", "it", program(tmp_path, "xclip"), platform="linux").sequence


def test_without_a_program_the_terminal_is_asked_and_that_is_said(tmp_path: Path) -> None:
    told = copied("déjà\n\tvu", "code block 2", bare(tmp_path), platform="linux")
    assert told.told == "Sent to the terminal's clipboard: code block 2: 2 lines, 8 characters."
    assert payload(told.sequence) == "déjà\n\tvu"


def test_large_texts_are_told(tmp_path: Path) -> None:
    surely = copied("x" * SURELY, "it", bare(tmp_path), platform="linux")
    assert "may not" not in surely.told
    large = copied("x" * (SURELY + 1), "it", bare(tmp_path), platform="linux")
    assert "take no more than 73.2 KiB" in large.told
    assert large.sequence
    over = copied("x" * (AT_MOST + 1), "it", bare(tmp_path), platform="linux")
    assert over.told.startswith("Not copied")
    assert "/export" in over.told
    assert over.sequence == ""


def test_what_is_copied_runs_nothing_where_it_is_pasted(tmp_path: Path) -> None:
    told = copied("safe\x1b[201~\x1b]0;x\x07\rrm\x9b31m", "it", bare(tmp_path), platform="linux")
    assert payload(told.sequence) == "saferm"


def test_multiplexers_get_it_wrapped() -> None:
    inside = osc52("x" * 300, {"TMUX": "1"})
    assert payload(inside) == "x" * 300
    wrapped = inside[inside.index("\x1bPtmux;") :]
    assert wrapped.endswith("\x1b\\")
    passed = wrapped.removeprefix("\x1bPtmux;").removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b")
    assert passed == osc52("x" * 300, {})
    for env in ({"STY": "1.pts"}, {"TERM": "screen-256color"}):
        pieces = re.findall(r"\x1bP(.{1,76}?)\x1b\\", osc52("x" * 300, env), re.DOTALL)
        assert "".join(pieces) == osc52("x" * 300, {})
        assert len(pieces) > 1
