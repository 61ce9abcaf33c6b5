"""Telling through the terminal that something is there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from skippy_chat.notifying import Notifier
from skippy_chat.setting_table import Notify


def told(
    how: Notify = "bell",
    *,
    seconds: float = 0.0,
    focused: bool | None = False,
    env: Mapping[str, str] | None = None,
    text: str = "Done.",
) -> str:
    written: list[str] = []
    notifier = Notifier(how, 30.0, env or {}, written.append)
    assert notifier.tell(text, seconds=seconds, focused=focused) is bool(written)
    return "".join(written)


@pytest.mark.parametrize(
    ("seconds", "focused", "due"),
    [
        (0.5, False, True),
        (0.5, True, False),
        (0.5, None, False),
        (30.0, True, True),
        (30.0, None, True),
        (29.9, None, False),
    ],
)
def test_when_it_is_due(seconds: float, focused: bool | None, due: bool) -> None:
    assert told(seconds=seconds, focused=focused) == ("\x07" if due else "")


@pytest.mark.parametrize(
    ("how", "env", "expected"),
    [
        ("off", {}, ""),
        ("bell", {"TERM": "xterm-kitty"}, "\x07"),
        ("osc9", {}, "\x1b]9;skippy-chat: Done.\x07"),
        ("osc777", {}, "\x1b]777;notify;skippy-chat;Done.\x07"),
        ("osc9", {"TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;skippy-chat: Done.\x07\x1b\\"),
        ("auto", {}, "\x07"),
        ("auto", {"TERM": "xterm-256color"}, "\x07"),
        ("auto", {"TERM": "xterm-kitty"}, "\x1b]9;skippy-chat: Done.\x07"),
        ("auto", {"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;skippy-chat: Done.\x07"),
        ("auto", {"TERM": "foot"}, "\x1b]777;notify;skippy-chat;Done.\x07"),
        ("auto", {"TERM": "xterm-kitty", "TMUX": "x"}, "\x07"),
    ],
)
def test_each_way(how: Notify, env: dict[str, str], expected: str) -> None:
    assert told(how, env=env) == expected


def test_a_hostile_title_cannot_end_the_sequence() -> None:
    text = "a\x07\x1b]52;c;eA==\x07;b\nc\x9d\u202e" + "x" * 500
    for how, own in (("osc9", 1), ("osc777", 1)):
        written = told(how, text=text)  # type: ignore[arg-type]
        assert written.count("\x1b") == own
        assert written.count("\x07") == 1
        assert written.endswith("\x07")
        assert "\x9d" not in written
        assert "\u202e" not in written
        assert len(written) < 300
    assert told("osc777", text=text).count(";") == 3


def test_nothing_is_written_where_there_is_no_terminal() -> None:
    assert not Notifier("bell", 0.0, {}, None).tell("Done.", seconds=100.0, focused=False)
