"""Answers on a terminal end their lines between words; in a pipe they are left as they came."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fakes.program import WORDS
from tests.repl.conftest import Open
from tests.repl.screen import ROOT

pytestmark = pytest.mark.timeout(180)

AT_TWENTY = "The lighthouse\nkeeper remembers\neverything about\nextraordinary\nweather\n"


@pytest.mark.parametrize("colour", [True, False])
def test_the_repl(terminal: Open, *, colour: bool) -> None:
    screen = terminal("wordy", "repl", **({} if colour else {"NO_COLOR": "1"}))
    screen.wait_for_prompt(1)
    screen.resize(24, 20)
    screen.type("hello\r")
    text = screen.wait_for(lambda text: text.count("tok/s") == 1 and text.endswith("\n>"))
    assert f"\n{AT_TWENTY}" in text
    assert "\nA quiet thought\nabout the sea\n" in text
    assert "\nreused 1,101 of\n1,105 tokens" in text


def test_the_plain_repl(terminal: Open) -> None:
    screen = terminal("wordy", "repl", "--plain")
    screen.wait_for("You:")
    screen.resize(24, 20)
    screen.type("hello\n")
    screen.wait_for("47.1 tokens per\nsecond.")
    assert "Reasoning: A quiet\nthought about the\nsea\nAssistant: The\nlighthouse keeper\n" in screen.text


def test_run(terminal: Open) -> None:
    screen = terminal("wordy", "run", "--new", "hello", columns=20)
    assert screen.ended() == 0
    assert screen.text.startswith(AT_TWENTY)


def test_a_pipe(folders: dict[str, str]) -> None:
    for arguments in (("run", "hello"), ("repl",)):
        done = subprocess.run(
            [sys.executable, "-m", "tests.fakes.program", "wordy", *arguments],
            cwd=ROOT,
            env={**folders, "LANG": "C.UTF-8", "COLUMNS": "20"},
            input="hello\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert f"{WORDS} \n" in done.stdout
