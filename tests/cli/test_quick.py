"""Quick completion gives what click gives, and leaves the rest to click."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.shell_completion import get_completion_class

from skippy_chat.cli import COMPLETE_VARIABLE, quick, shells
from skippy_chat.cli.options import Invocation
from skippy_chat.cli.root import skippy_chat
from tests.cli.commands import PATHS
from tests.cli.test_start import cpu_seconds
from tests.fakes.host import Desk

TYPED = ["", "-", "--", "--s", "--no", "-c", "s", "c", "zz", "--model=x", "--tools"]
BEFORE = [
    [], ["--model", "x"], ["--json"], ["-c", "a=b"], ["--session=a", "--plain"], ["--approve"], ["--reasoning"],
    ["--model"], ["--unknown"], ["--"], ["-h"], ["word"], ["--sandbox"], ["--tool-file", "a.py"],
]  # fmt: skip


def by_click(desk: Desk, shell: str) -> str:
    kind = shells._Bash if shell == "bash" else get_completion_class(shell)
    assert kind is not None
    asked = kind(skippy_chat, {"obj": Invocation(desk.host())}, shells.PROGRAM, COMPLETE_VARIABLE)
    return asked.complete()


def offers(shell: str, answer: str) -> list[tuple[str, ...]]:
    lines = answer.split("\n")
    size = 3 if shell == "zsh" else 1
    items = [tuple(lines[at : at + size]) for at in range(0, len(lines), size)]
    return [each for each in items if "-h" not in str(each)] + sorted(
        each for each in items if "-h" in str(each)
    )


@pytest.mark.parametrize("shell", shells.SHELLS)
@pytest.mark.parametrize("path", PATHS)
def test_the_two_never_differ(desk: Desk, monkeypatch: pytest.MonkeyPatch, path: str, shell: str) -> None:
    answered = 0
    for before in BEFORE:
        for typed in TYPED:
            words = ["skippy-chat", *path.split(), *before]
            env = {
                "COMP_WORDS": " ".join([*words, typed]),
                "COMP_CWORD": typed if shell == "fish" else str(len(words)),
            }
            found = quick.answer(f"{shell}_complete", env)
            if found is None:
                continue
            answered += 1
            for name, value in env.items():
                monkeypatch.setenv(name, value)
            # But for the order of -h and --help, which some releases of click leave to chance.
            assert offers(shell, found) == offers(shell, by_click(desk, shell)), env
    assert answered > 10


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("skippy-chat run 'a", "2"), ("skippy-chat run a\\ b", "2"), ("skippy-chat --session t", "2"),
        ("skippy-chat config set t", "3"), ("skippy-chat run", "x"), ("", ""),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_left_to_click(words: str, at: str) -> None:
    assert quick.answer("bash_complete", {"COMP_WORDS": words, "COMP_CWORD": at}) is None
    assert quick.answer("bash_source", {"COMP_WORDS": words, "COMP_CWORD": at}) is None
    assert quick.answer("powershell_complete", {"COMP_WORDS": words, "COMP_CWORD": at}) is None


def test_it_takes_little_longer_than_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETE_VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "skippy-chat sessions ren")
    monkeypatch.setenv("COMP_CWORD", "2")
    done = subprocess.run(
        [sys.executable, "-m", "skippy_chat"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "plain,rename\n"
    completion, python = cpu_seconds(("-m", "skippy_chat"), ("-c", "pass"))
    assert completion <= 4 * python
