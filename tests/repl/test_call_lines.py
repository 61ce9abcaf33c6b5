"""Calls as lines: those that run at once are told apart, and pieces of any size give the same lines."""

from __future__ import annotations

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.events import ApprovalNeeded, ToolCallDelta, ToolFinished, ToolOutput, ToolStarted
from skippy_chat.repl.calls import CallLines, Look
from skippy_chat.tool_wording import result_line, result_sentence

ROWS = Look("→ ", "│ ", result_line, live=True)
WORDS = Look("Call: ", "Output: ", result_sentence)


def lines_on(out: io.StringIO, look: Look = ROWS, width: int | None = 80) -> CallLines:
    return CallLines(out.write, lambda: width, look)


def test_calls_that_run_at_once_are_told_apart_by_name() -> None:
    out = io.StringIO()
    lines = lines_on(out, WORDS)
    for call, name in (("a", "search_files"), ("b", "read_file")):
        lines.started(ToolStarted(call=call, name=name, arguments="{}", at_ms=1000))
    lines.output(ToolOutput(call="a", text="one\ntw"))
    lines.output(ToolOutput(call="b", text="other\n"))
    lines.finished(ToolFinished(call="b", name="read_file", result="other\nmore\n", at_ms=1500))
    lines.output(ToolOutput(call="a", text="o\n"))
    lines.finished(ToolFinished(call="a", name="search_files", result="2", at_ms=3000))
    assert out.getvalue().splitlines() == [
        "Call: search_files()",
        "Call: read_file()",
        "Output: search_files: one",
        "Output: read_file: other",
        "read_file gave 2 lines, 11 B, after 0.5 s.",
        "Output: two",
        "search_files gave 2, after 2.0 s.",
    ]


def test_a_call_that_was_asked_about_is_not_shown_again() -> None:
    out = io.StringIO()
    lines = lines_on(out)
    lines.asked(ApprovalNeeded(call="a", name="write_file"))
    lines.started(ToolStarted(call="a", name="write_file"))
    lines.finished(ToolFinished(call="a", name="write_file", result="Done.", detail="+new"))
    assert out.getvalue() == "✓ write_file · Done.\n"


def test_a_long_diff_is_cut_and_what_is_left_out_counted() -> None:
    out = io.StringIO()
    lines = lines_on(out)
    lines.finished(ToolFinished(call="a", name="w", detail="\n".join(f"+{number}" for number in range(20))))
    assert out.getvalue().splitlines()[10:] == ["│ +10", "│ +11", "│ … 8 lines not shown …", "✓ w · nothing"]


@pytest.mark.parametrize("width", [None, 20, 80])
def test_output_of_a_call_nobody_knows_is_not_shown(width: int | None) -> None:
    out = io.StringIO()
    lines_on(out, width=width).output(ToolOutput(call="a", text="one\n"))
    assert out.getvalue() == ""


def test_a_long_call_counts_what_its_line_has_no_room_for() -> None:
    out = io.StringIO()
    lines = lines_on(out, width=30)
    told = [
        lines.delta(ToolCallDelta(call="a", name="n" if not n else "", arguments="x" * 10)) for n in range(5)
    ]
    assert told == [0, 0, 30, 40, 50]
    assert out.getvalue() == f"→ n {'x' * 23}…\n"


def test_a_call_without_an_id_ends_its_line_too() -> None:
    out = io.StringIO()
    lines = lines_on(out)
    lines.delta(ToolCallDelta(name="tool", arguments="{}"))
    lines.end()
    lines.end()
    assert out.getvalue() == "→ tool {}\n"


@given(st.text(), st.lists(st.integers(0, 300)), st.integers(20, 90))
def test_arguments_are_one_row_however_they_come(text: str, cuts: list[int], width: int) -> None:
    places = [0, *sorted(min(each, len(text)) for each in cuts), len(text)]
    shown = []
    for pieces in ([text], [text[start:end] for start, end in itertools.pairwise(places)]):
        out = io.StringIO()
        lines = lines_on(out, width=width)
        for piece in pieces:
            lines.delta(ToolCallDelta(call="a", name="tool", arguments=piece))
        lines.end()
        shown.append(out.getvalue())
    assert shown[0].startswith("→ tool ")
    assert len(shown[0].splitlines()) == 1
    # A character may fit at the very end or not, as its piece allows.
    assert shown[0].rstrip("…\n")[: width - 8] == shown[1].rstrip("…\n")[: width - 8]
