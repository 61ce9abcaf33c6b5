"""Headlines, diffs, live output and arguments: the parts that cards are made of."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.tui.calls import brief, in_full, paired
from skippy_chat.tui.diff import counted, diff_lines
from skippy_chat.tui.headline import Headline
from skippy_chat.tui.live import LiveOutput
from tests.tui.test_history import CONTROL


@given(st.text(), st.text(max_size=12), st.integers(1, 200))
@settings(deadline=None)
def test_a_headline_is_one_row_that_fits(text: str, tail: str, width: int) -> None:
    line = Headline(Content(text.replace("\n", " ")), Content("✓ "), Content(tail.replace("\n", " ")))
    rows = line.wrap(width)
    assert len(rows) == 1
    assert sum(piece.content.cell_length for piece in rows[0]) <= max(width, 1)


def test_a_headline_cuts_its_text_before_its_tail_and_keeps_them_near() -> None:
    line = Headline(Content("read_file a_long_name.txt"), Content("✓ "), Content("3 lines"))

    def at(width: int) -> str:
        return "".join(piece.content.plain for piece in line.wrap(width)[0])

    assert at(36) == "✓ read_file a_long_name.txt  3 lines"
    assert at(30) == "✓ read_file a_long_n…  3 lines"
    assert at(16) == "✓ read_file a_l…"
    assert cell_len(at(200)) == 110


def test_a_diff_keeps_every_space_and_is_counted() -> None:
    diff = "--- a\n+++ a\n@@ -1 +1,2 @@\n-  x \n+  y \n+\n"
    assert "\n".join(line.plain for line in diff_lines(diff, Content("  "))) == diff.strip("\n")
    assert counted(diff) == "+2 -1"
    assert diff_lines("", Content("")) == []


@given(st.lists(st.text(alphabet="ab\r\n\x1b[2J\t", max_size=20), max_size=20))
@settings(deadline=None)
def test_live_output_is_the_same_however_it_was_split(pieces: list[str]) -> None:
    parts, whole = LiveOutput(), LiveOutput()
    for piece in pieces:
        parts.feed(piece)
    whole.feed("".join(pieces))
    assert parts.last(200) == whole.last(200)
    assert parts.count == whole.count
    assert not any(CONTROL.search(line) or "\n" in line for line in parts.last(200))


def test_live_output_is_bounded_and_a_progress_bar_is_its_last_state() -> None:
    live = LiveOutput()
    live.feed("1 %\r2 %\r")
    live.feed("3 %")
    assert live.last(1) == ["3 %"]
    live.feed("x" * 1_000_000)
    live.feed("\ny\n" * 100_000)
    assert len(live.last(10_000)) <= 200
    assert max(map(len, live.last(10_000))) <= 2000
    assert live.last(1) == ["y"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"path": "a.txt"}', "a.txt"),
        ("{}", ""),
        ('{"a": 1, "b": "two words", "c": [1]}', 'a=1 b="two words" c=[1]'),
        ('{"text": "one\\ntwo\\u001b[2J"}', "one two"),
        ('{"path": "a', '{"path": "a'),
        ("[1]", "[1]"),
    ],
)
def test_arguments_in_short(arguments: str, told: str) -> None:
    assert brief(arguments) == told


def test_arguments_in_full() -> None:
    value = "x" * 5000 + "\nend\x1b[2J"
    assert in_full(json.dumps({"content": value})) == [("content", "x" * 5000 + "\nend")]
    assert in_full("{broken\x07") == [("", "{broken")]


def test_calls_go_to_their_results_though_ids_repeat() -> None:
    def message(name: str, role: str, **more: object) -> Message:
        return Message(name, "s", None, role, "", **more)  # type: ignore[arg-type] # values by name

    first, second, third = ToolCall("1", "a", "{}"), ToolCall("2", "b", "{}"), ToolCall("1", "c", "{}")
    messages = [
        message("M1", "assistant", tool_calls=(first, second)),
        message("M2", "tool", tool_call_id="1"),
        message("M3", "assistant", tool_calls=(third,)),
        message("M4", "tool", tool_call_id="1"),
        message("M5", "tool", tool_call_id="9"),
    ]
    assert paired(messages) == {"M1": (second,), "M2": (first,), "M4": (third,)}
