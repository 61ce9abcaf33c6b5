"""Quotations leave nothing out and mark every row; output is bounded however it comes in pieces."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.agent.approvals.showing import show
from skippy_chat.repl.output import OutputLines
from skippy_chat.repl.quoting import complete, fitted, quoted
from skippy_chat.text.wrap import cells

MARK, MORE = "│ ", "┆ "


@given(st.text(), st.one_of(st.none(), st.integers(4, 100)))
def test_a_quotation_is_complete_and_every_row_is_marked(text: str, width: int | None) -> None:
    safe = complete(show(text))
    rows = quoted(safe, width, mark=MARK, more=MORE)
    lines: list[str] = []
    for row in rows:
        if row.startswith(MARK):
            lines.append(row.removeprefix(MARK))
        else:
            assert row.startswith(MORE)
            lines[-1] += row.removeprefix(MORE)
    assert "\n".join(lines) == safe


@given(st.text(), st.integers(12, 100))
def test_no_row_is_wider_than_the_terminal(text: str, width: int) -> None:
    for row in quoted(complete(text), width, mark=MARK, more=MORE):
        # A combining mark stays with its character, and takes no cell.
        assert cells(row) + 7 * row.count("\t") < width


@given(st.text())
def test_what_was_made_safe_stays_as_it_is_and_what_was_not_is_written_out(text: str) -> None:
    assert complete(show(text)) == show(text)
    assert not [each for each in complete(text) if each in "\x1b\x9b\u202e\u200b\x00"]


def test_hidden_text_is_written_out_where_a_question_forgot_to() -> None:
    assert complete("a\u202eb") == "a⟪U+202E⟫b"
    assert complete("a\x1b[2Jb") == "a⟪U+001B⟫[2Jb"


@given(st.text(), st.integers(2, 40))
def test_a_fitted_line_fits_and_says_when_it_was_cut(text: str, room: int) -> None:
    line = " ".join(text.split())
    short = fitted(line, room)
    assert cells(short) <= room
    assert short == line or short.endswith("…")


def told(pieces: list[str]) -> list[str]:
    lines = OutputLines()
    found = [line for piece in pieces for line in lines.feed(piece)]
    return found + lines.finish()


@given(st.text(st.sampled_from("ab\n\r\x1b[2J;]0\x07 ")), st.lists(st.integers(0, 60)))
def test_output_is_the_same_however_it_is_split(text: str, cuts: list[int]) -> None:
    places = sorted({0, *(min(each, len(text)) for each in cuts), len(text)})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    assert told(pieces) == told([text])
    assert not [line for line in told([text]) if "\x1b" in line or "\r" in line]


@given(st.integers(0, 40))
def test_the_first_and_the_last_lines_show_and_the_rest_is_counted(count: int) -> None:
    shown = told([f"line {number}\n" for number in range(count)])
    numbers = [int(line.split()[1]) for line in shown if line.startswith("line")]
    left_out = max(0, count - 12)
    assert numbers == [*range(min(count, 8)), *range(max(8, count - 4), count)]
    assert [line for line in shown if "…" in line] == (
        [] if not left_out else [f"… {left_out} line{'' if left_out == 1 else 's'} not shown …"]
    )


def test_a_carriage_return_begins_the_line_again() -> None:
    assert told(["10%\r", "20%\r", "done\r\nnext\r", "\nlast"]) == ["done", "next", "last"]


def test_an_endless_line_is_not_held() -> None:
    lines = OutputLines()
    for _ in range(100):
        assert lines.feed("x" * 1000) == []
    assert [len(each) for each in lines.finish()] == [2000]
