"""Completion, as shells ask for it, and in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.cli.shells import SHELLS
from tests.fakes.host import Desk

BIN = Path(sys.executable).parent


def environment(root: Path) -> dict[str, str]:
    folders = {f"SKIPPY_{name}_DIR": str(root / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(root), "LANG": "C.UTF-8", **folders}


def offered(root: Path, *words: str, shell: str = "zsh") -> list[str]:
    """Ask as a shell does; the last word is the one that is being typed."""
    given = {"COMP_WORDS": " ".join(["skippy-chat", *words]), "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-m", "skippy_chat"],
        env={**environment(root), **given, "_SKIPPY_CHAT_COMPLETE": f"{shell}_complete"},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    return lines[1::3] if shell == "zsh" else lines


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    with History.open(tmp_path / "data" / "history.db", now=lambda: 1) as history:
        for title in ("trip", "My trip (2); rm *", "tripod"):
            history.create_session(folder=tmp_path, title=title)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("conf",), ["config"]),
        (("config", "set", "temp"), ["temperature"]),
        (("config", "set", "approve", "a"), ["ask", "auto-read", "all"]),
        (("run", "--json-s"), ["--json-schema"]),
        (("--model", "smol"), ["smollm2"]),
        (("run", "--tools", "read_file,calc"), ["read_file,calculator"]),
        (("-c", "flash"), ["flash_attention="]),
        (("-c", "flash_attention=o"), ["flash_attention=on", "flash_attention=off"]),
        (("completion", ""), list(SHELLS)),
        (("run", "--reasoning", ""), ["on", "off"]),
        (("sessions", "show", ""), []),
        (("--persona", ""), []),
    ],
)
def test_what_is_offered(tmp_path: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(tmp_path, *words) == expected
    assert list(tmp_path.iterdir()) == []


def test_names_come_from_what_is_stored(sessions: Path) -> None:
    assert offered(sessions, "sessions", "show", "tri") == ["tripod", "trip"]
    assert offered(sessions, "run", "--session", "My") == ["My trip (2); rm *"]
    (sessions / "config" / "personas").mkdir(parents=True)
    (sessions / "config" / "personas" / "reviewer.md").write_text("x")
    assert offered(sessions, "--persona", "re") == ["reviewer"]
    assert offered(sessions, "run", "--data-dir", f"{sessions}/other", "--session", "") == []


def test_a_name_that_a_terminal_would_act_on_is_not_offered(tmp_path: Path) -> None:
    models = tmp_path / "cache" / "models"
    models.mkdir(parents=True)
    for name in ("zz-good", "zz-\x1b[2J", "zz\nplain,x", "zz-\u202e"):
        (models / f"{name}.gguf").write_bytes(b"GGUF")
    assert offered(tmp_path, "--model", "zz", shell="bash") == ["plain,zz-good"]


def test_a_damaged_history_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "history.db").write_bytes(b"not a database" * 100)
    assert offered(tmp_path, "sessions", "show", "") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sessions", "ren"], ["rename"]),
        (["sessions", "show", "My"], ["My\\ trip\\ \\(2\\)\\;\\ rm\\ \\*"]),
        (["sessions", "show", "tri"], ["tripod", "trip"]),
    ],
)
def test_a_real_bash(sessions: Path, words: list[str], expected: list[str]) -> None:
    program = (
        'eval "$(skippy-chat completion bash)"; COMP_WORDS=(skippy-chat "$@"); COMP_CWORD=$#; '
        '_skippy_chat_completion skippy-chat 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"; complete -p skippy-chat'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program, "bash", *words],
        env=environment(sessions), cwd=sessions, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines()[:-1] == expected
    assert "-F _skippy_chat_completion skippy-chat" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_asks_in_its_own_way(desk: Desk, shell: str) -> None:
    assert desk.run("completion", shell) == 0
    assert f"_SKIPPY_CHAT_COMPLETE={shell}_complete" in desk.out
    syntax = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}[shell]
    if shutil.which(syntax[0]):
        subprocess.run(syntax, input=desk.out, text=True, check=True, timeout=30)
    assert desk.run("completion", "tcsh") == 2
