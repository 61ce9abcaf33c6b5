"""Markdown to lines, whole and as it streams, and how lines fill a width."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content
from textual.style import Style
from textual.visual import RenderOptions

from skippy_chat.tui.code import coloured
from skippy_chat.tui.display import one_line, shown
from skippy_chat.tui.flow import Row, Text, breaks, shrunk
from skippy_chat.tui.markdown import markdown_lines, plain_lines
from skippy_chat.tui.prose import Prose
from skippy_chat.tui.stream import GrowingMarkdown

SAMPLE = """\
# Title

A paragraph with **bold**, `code`, a [link](http://x.y/z) and <think>x</think>.
Its second line.

- one item
- two
  - nested **b**
- three

  loose

1. first
2. second
   ```python
   def f(x):
       return "a" + x  # note
   ```

> quote
> - in it

| a | bb |
|---|----|
| 1 | **2** |

<div>block</div>

---

```
open fence, *plain*

def f(): pass
"""


def screen(source: str, width: int = 60) -> list[str]:
    return [
        "".join(piece.content.plain for piece in pieces).rstrip()
        for line in markdown_lines(source, colours=True)
        for pieces in line.wrap(width)
    ]


def test_every_kind_of_block() -> None:
    assert screen(SAMPLE) == [
        "Title",
        "",
        "A paragraph with bold, code, a link (http://x.y/z) and",
        "<think>x</think>.",
        "Its second line.",
        "",
        "• one item",
        "• two",
        "  • nested b",
        "• three",
        "  loose",
        "",
        "1. first",
        "2. second",
        "   ▎ def f(x):",
        '   ▎     return "a" + x  # note',
        "",
        "▎ quote",
        "▎",
        "▎ • in it",
        "",
        "a  bb",
        "─  ──",
        "1  2",
        "",
        "<div>block</div>",
        "",
        "────────────────────────",
        "",
        "▎ open fence, *plain*",
        "▎",
        "▎ def f(): pass",
    ]


def test_html_is_text() -> None:
    assert screen("<script>alert(1)</script> <b>x</b>") == ["<script>alert(1)</script> <b>x</b>"]


def test_a_list_item_wraps_under_its_text() -> None:
    assert screen("- one two three four", 12) == ["• one two", "  three four"]


def test_console_markup_is_text() -> None:
    assert screen("[bold]x[/bold] [@click=app.quit]y[/]") == ["[bold]x[/bold] [@click=app.quit]y[/]"]


@given(st.lists(st.integers(1, 40), max_size=60))
@settings(deadline=None)
def test_a_stream_ends_as_the_whole(sizes: list[int]) -> None:
    growing, prose = GrowingMarkdown(), Prose()
    at = 0
    for size in [*sizes, len(SAMPLE)]:
        start, lines = growing.feed(SAMPLE[at : at + size])
        prose.replace(start, lines)
        at += size
    prose.replace(*growing.finish())
    assert prose.plain == "\n".join(line.plain for line in markdown_lines(SAMPLE, colours=True))


@given(st.text(alphabet="ab*_`-#>|1. \n\x1b\x9b[]()~日\u2028\x0b\x85", max_size=200), st.integers(1, 7))
@settings(max_examples=200, deadline=None)
def test_any_text_streams_without_control_characters(text: str, size: int) -> None:
    growing, prose = GrowingMarkdown(), Prose()
    for at in range(0, len(text), size):
        prose.replace(*growing.feed(text[at : at + size]))
    prose.replace(*growing.finish())
    assert not set(prose.plain) & set("\x1b\x9b\u2028\x0b\x85\x0c\r")
    assert prose.height(20) == sum(len(each.line.wrap(20)) for each in prose._lines)


def test_what_does_not_change_keeps_its_wrapping() -> None:
    prose = Prose([Text(Content("one")), Text(Content("two"))])
    kept = prose._lines[0]
    prose.replace(0, [Text(Content("one")), Text(Content.styled("two", "bold"))])
    assert prose._lines[0] is kept
    assert prose._lines[1].line.same(Text(Content.styled("two", "bold")))


@given(st.text(alphabet="ab 日e\u0301", max_size=80), st.integers(2, 30), st.booleans())
@settings(deadline=None)
def test_wrapping_loses_nothing_and_fits(text: str, width: int, folded: bool) -> None:
    offsets = breaks(text, width, folded=folded)
    assert offsets == sorted(set(offsets))
    parts = [text[a:b] for a, b in zip([0, *offsets], [*offsets, len(text)], strict=True)]
    assert "".join(parts) == text
    for part in parts:
        assert cell_len(part if folded else part.rstrip(" ")) <= width


@pytest.mark.parametrize(
    ("widths", "room", "wanted"),
    [((3, 3), 10, (3, 3)), ((3, 30), 10, (3, 7)), ((30, 30), 10, (5, 5)), ((9, 9), 1, (1, 1))],
)
def test_the_widest_columns_give_way(widths: tuple[int, ...], room: int, wanted: tuple[int, ...]) -> None:
    assert shrunk(widths, room) == wanted


def test_a_table_row_wraps_inside_its_columns() -> None:
    row = Row((Content("a"), Content("one two three")), (1, 13))
    lines = ["".join(piece.content.plain for piece in pieces).rstrip() for pieces in row.wrap(10)]
    assert lines == ["a  one two", "   three"]
    assert row.plain == "a  one two three"


def test_code_keeps_its_text_in_colour() -> None:
    code = '\n\ndef f():\n    return "x"  # y\n\n'
    assert coloured(code, "python").plain == code
    assert any("$text-accent" in str(span.style) for span in coloured(code, "python").spans)
    assert coloured(code, "no-such-language").spans == []


def test_the_display_boundary() -> None:
    assert shown("a\x0bb\x0cc\x85d\u2028e\u2029f\r\ng\th\x1b[2J") == "abcd\ne\nf\ng   h"
    assert one_line("a\n\x1b[31m b  c", 5) == "a b c"
    assert one_line("abcdefgh", 5) == "abcd…"
    assert [line.plain for line in plain_lines("a\n*b*", Content("» "))] == ["a", "*b*"]


@given(
    st.lists(st.text(alphabet="ab1 .,-'()*`#\n=|>", max_size=12), max_size=30),
    st.integers(4, 30),
)
@example(["1", "\n|1", "\n|-", "1"], 4)
@example(["a\n>", "\n\n>", "b"], 9)
@settings(max_examples=200, deadline=None)
def test_what_is_kept_while_a_text_grows_is_what_would_be_made_anew(pieces: list[str], width: int) -> None:
    growing, prose = GrowingMarkdown(), Prose()
    style, options = Style(), RenderOptions(lambda _style: Style(), {})
    before: list[str] = []
    for piece in pieces:
        start, lines = growing.feed(piece)
        changed, rows = prose.replace(start, lines)
        painted = [strip.text for strip in prose.render_strips(width, None, style, options)]
        fresh = Prose([each.line for each in prose._lines])
        assert painted == [strip.text for strip in fresh.render_strips(width, None, style, options)]
        assert prose.height(width) == len(painted)
        top = prose.height(width, changed) + rows
        assert painted[:top] == before[:top]
        before = painted
    whole = "".join(pieces)
    assert prose.plain == "\n".join(line.plain for line in markdown_lines(whole, colours=False))
