"""Where a piece of text that is not there was probably meant to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.agent.tools.alike import lines_like
from skippy_chat.agent.tools.protocol import ToolContext
from skippy_chat.agent.tools.registry import Registry

CODE = "def one():\n    return 1\n\ndef two():\n    if one():\n        return 2\n"
FARES = "bus 310\nmuseum 126\n"
LONG = "".join(f"line {number}\n" for number in range(1500)) + "the  end\n"


@pytest.mark.parametrize(
    ("text", "wanted", "lines", "spaces"),
    [
        (CODE, "def one():\n  return 1", (1, 2), True),
        (CODE, "\n    return  1\n\n", (2, 2), True),
        (CODE, "one():\n  return 1\n\ndef", (1, 4), True),
        (CODE, "  if one():\n    return 2", (5, 6), True),
        (FARES, "bus is 335", (1, 1), False),
        (FARES, "Museum 126", (2, 2), False),
        (FARES, "bus 300\nmuseum 120", (1, 2), False),
        ("same\nsame\n", "samr", (1, 1), False),
        (LONG, "the end", (1501, 1501), True),
    ],
)
def test_lines_that_are_like_it_are_found(
    text: str, wanted: str, lines: tuple[int, int], spaces: bool
) -> None:
    found = lines_like(text, wanted)
    assert found is not None
    assert ((found[0][0], found[0][-1]), found[1]) == (lines, spaces)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "something"),
        (FARES, ""),
        (FARES, " \n\n"),
        (FARES, "zebra"),
        (FARES, "museum 126\nbus 310"),  # the second line would be below the end
        (LONG, "line 10x"),  # too long to be compared letter by letter
        ("x" * 500, "y" * 500),
    ],
)
def test_nothing_is_told_where_nothing_is_like_it(text: str, wanted: str) -> None:
    assert lines_like(text, wanted) is None


@given(st.text("ab \t\n", max_size=60), st.text("ab \t\n", max_size=20))
def test_lines_are_in_the_text(text: str, wanted: str) -> None:
    found = lines_like(text, wanted)
    if found is not None:
        lines, spaces = found
        assert 1 <= lines[0] <= lines[-1] <= text.count("\n") + 1
        if spaces:
            there = " ".join("\n".join(text.split("\n")[lines[0] - 1 : lines[-1]]).split())
            assert " ".join(wanted.split()) in there


@pytest.mark.parametrize(
    ("old", "told"),
    [
        ("bus  310", "Line 1 is the same but for spaces. Read"),
        ("bus 310\n museum 126", "Lines 1 to 2 are the same but for spaces. Read"),
        ("muzeum 126", "Line 2 is close to it. Read"),
        ("quite another thing", "old_text is not in fares.txt. Read"),
    ],
)
def test_an_edit_that_fails_tells_where_and_not_what(
    registry: Registry, context: ToolContext, workspace: Path, old: str, told: str
) -> None:
    (workspace / "fares.txt").write_text(FARES)
    arguments = json.dumps({"path": "fares.txt", "old_text": old, "new_text": "x"})
    result = registry.run("edit_file", arguments, context)
    assert result.status == "error"
    assert told in result.text
    assert "museum 126" not in result.text
    assert (workspace / "fares.txt").read_text() == FARES
