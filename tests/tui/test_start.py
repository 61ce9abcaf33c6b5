"""How the command line starts the app: options that name a session, and mistakes told in one line before the screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from tests.repl.conftest import Open
from tests.repl.screen import ROOT, Screen

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    (tmp_path / "data").mkdir(mode=0o700)
    with History.open(tmp_path / "data" / "history.db", now=lambda: 1_700_000_000_000) as history:
        for title in ("harbour", "voyage"):
            session = history.create_session(folder=ROOT, title=title)
            history.append(session.id, None, "user", f"about the {title}")
    with ExitStack() as stack:
        yield lambda scenario, *arguments, **env: stack.enter_context(
            Screen(scenario, *arguments, env={**folders, **env})
        )


def test_bare_start_asks_which_session(terminal: Open) -> None:
    screen = terminal("answers")
    text = screen.wait_for("Esc leaves")
    assert text.index("New session") < text.index("voyage") < text.index("harbour")
    screen.type("\x1b[B\r")
    screen.wait_for(" ready")
    screen.type("\x04")
    assert screen.ended() == 0


@pytest.mark.parametrize(
    "arguments",
    [("--new",), ("--continue",), ("--session", "harbour"), ("--session", "x"), ("--resume", "voyage")],
)
def test_options_that_name_a_session_skip_the_question(terminal: Open, arguments: tuple[str, ...]) -> None:
    screen = terminal("answers", *arguments)
    assert "New session" not in screen.wait_for(" ready")
    screen.type("\x04")
    assert screen.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--resume", "harbor"), 1, "Close to it: harbour"),
        (("--resume", "voyage", "--new"), 2, "--resume does not go with"),
        (("--resume", "voyage", "sessions", "list"), 2, "--resume is for the app"),
        (("--continue", "--new"), 2, "--continue does not go with"),
        (("--session", "voyage", "--new"), 2, "A session named voyage exists"),
        (("-c", "temprature=1"), 2, "temprature"),
        (("-c", "keys=tols=f8"), 2, "there is no command or action 'tols'. Did you mean tools?"),
        (("-c", "keys=tools=ctrl+p"), 2, "Ctrl-P would be the key of tools and of palette"),
        (("-c", "keys=tools=ctrl+m"), 2, "terminals send Enter for Ctrl-M"),
        (("-c", "theme=nrod"), 2, "Did you mean nord?"),
    ],
)
def test_mistakes_are_told_before_the_screen_is_taken(
    terminal: Open, arguments: tuple[str, ...], code: int, words: str
) -> None:
    screen = terminal("answers", *arguments)
    assert screen.ended() == code
    told = screen.raw.decode()
    assert words in told
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", told)  # nothing but a colour
    assert told.count("\n") == 1


def test_plain_stays_the_repl(terminal: Open) -> None:
    screen = terminal("answers", "--plain", "--new")
    screen.wait_for("You:")
    screen.type("\x04")
    assert screen.ended() == 0
