"""The words about tools: one line whatever a model wrote, exact sizes, and no answer that allows by mistake."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.agent.asking import Answer
from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.agent.tools.journal import Undone
from skippy_chat.events import ToolFinished
from skippy_chat.tool_wording import (
    call_line,
    choices,
    cut,
    read_answer,
    reason_of,
    result_line,
    result_sentence,
    tools_text,
    undone_text,
)

ALL = ("once", "session", "always")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"path": "a.txt", "lines": [1, 20]}', 'read_file(path="a.txt", lines=[1, 20])'),
        ('{"text": "two\\nlines"}', 'read_file(text="two\\nlines")'),
        ("{}", "read_file()"),
        ('{"path":\n "a', 'read_file({"path": "a)'),
        ("[1,\n 2]", "read_file([1, 2])"),
        (json.dumps({"text": "x" * 100}), f'read_file(text="{"x" * 58}…)'),
    ],
)
def test_a_call_is_one_line_even_when_its_arguments_cannot_be_read(arguments: str, line: str) -> None:
    assert call_line("read_file", arguments) == line


@given(st.text(), st.text(), st.integers(20, 200))
def test_a_call_is_never_longer_nor_broken(name: str, arguments: str, limit: int) -> None:
    line = call_line(name, arguments, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_how_a_call_ended() -> None:
    ok = ToolFinished(name="read_file", result="one\ntwo\n", spilled="out/1.txt")
    assert result_line(ok, 1500) == "✓ read_file · 2 lines, 8 B · 1.5 s · all of it: out/1.txt"
    assert result_sentence(ok, 1500) == (
        "read_file gave 2 lines, 8 B, after 1.5 s. All of it is in out/1.txt"
    )
    assert result_line(ToolFinished(name="x", result="")) == "✓ x · nothing"
    assert result_line(ToolFinished(name="calculator", result="42\n"), 20) == "✓ calculator · 42 · 20 ms"
    denied = ToolFinished(name="write_file", status="denied", result="\nNot now.\nmore")
    assert result_line(denied) == "⊘ write_file · denied: Not now."
    assert result_sentence(denied) == "write_file denied: Not now."
    failed = ToolFinished(status="error", result="")
    assert result_line(failed) == "✗ call · failed: it gave nothing"
    assert result_sentence(failed, 50) == "The call failed, after 50 ms: it gave nothing"


def test_a_reason_is_cut() -> None:
    assert reason_of("y" * 500) == f"{'y' * 159}…"
    assert cut(" a \n b ", 10) == "a b"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", Answer(allowed=True)),
        (" YES ", Answer(allowed=True)),
        ("once", Answer(allowed=True)),
        ("s", Answer(allowed=True, scope="session")),
        ("always", Answer(allowed=True, scope="always")),
        ("n", Answer(allowed=False)),
        ("no, use the other file", Answer(allowed=False, reason="use the other file")),
        ("n: Wrong folder", Answer(allowed=False, reason="Wrong folder")),
        ("", None),
        ("yes please", None),
        ("never", None),
        ("not that one", None),
        ("y\ny", None),
        ("allow", None),
        ("yy", None),
    ],
)
def test_an_answer_is_one_of_those_offered_or_none(typed: str, answer: Answer | None) -> None:
    assert read_answer(typed, ALL) == answer


@pytest.mark.parametrize("typed", ["s", "a", "session", "always"])
def test_what_was_not_offered_is_no_answer(typed: str) -> None:
    assert read_answer(typed, ("once",)) is None
    assert read_answer("y", ("once",)) == Answer(allowed=True)


@given(st.text())
def test_only_whole_words_allow(typed: str) -> None:
    answer = read_answer(typed, ALL)
    if answer is not None and answer.allowed:
        word = typed.strip().rstrip(",.:;").lower()
        assert word in {"y", "yes", "once", "s", "session", "a", "always"}


def test_the_choices_are_those_offered() -> None:
    assert choices(("once",)) == "[y]es, once, or [n]o, and a reason if you like"
    assert choices(ALL) == ("[y]es, once, [s] for this session, [a]lways, or [n]o, and a reason if you like")


def test_lists() -> None:
    assert undone_text(Undone(("a.txt",), ("new/b.txt",))) == "Put back: a.txt\nRemoved: new/b.txt"
    assert undone_text(Undone((), ())) == "There was nothing to put back."
    tools = [
        ToolInfo("calculator", "Evaluate\narithmetic.", "allow"),
        ToolInfo("run_command", "Run a command.", "ask"),
    ]
    assert tools_text(tools) == (
        "calculator   runs at once  Evaluate arithmetic.\nrun_command  asks first    Run a command."
    )
    assert "--tools" in tools_text([])
