"""The checkpoint tree as rows: guides, words, and which row speaks for a message."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.engine.questions import EditCost
from skippy_chat.tui.cache_rows import TreeRow, checkpoint_rows, drawn, message_rows
from tests.tui.kept import long, node, said, tree, two_branches


def told(row: TreeRow) -> str:
    mark = "●" if row.now else "○"
    return f"{row.position} {row.guides}{mark} {row.name}: {row.gist} [{row.size}, {row.place}] {row.cost}".rstrip()


def test_a_row_for_each_checkpoint_the_last_of_a_message_speaks_for_it() -> None:
    assert [told(row) for row in checkpoint_rows(two_branches())] == [
        "10 ● System: Be brief. [12.0 KiB, both]",
        "30 ● You 1: Hello there [22.0 KiB, both] 24",
        "34 ● Assistant: start of the answer [6.0 KiB, both]",
        "38 ● Assistant: end of the answer [6.0 KiB, both]",
        "40 ● Assistant: Hi. [4.0 KiB, both]",
        "50 ├─○ You 2: Something else. [12.0 KiB, disk]",
        "48 ● You 2: And now? [-, memory] 12 · 0.5 s",
    ]


def test_a_row_for_each_message() -> None:
    rows = message_rows(two_branches())
    assert [told(row) for row in rows] == [
        "10 ● System: Be brief. [12.0 KiB, both]",
        "30 ● You 1: Hello there [22.0 KiB, both] 24",
        "40 ● Assistant: Hi. [16.0 KiB, both]",
        "50 ├─○ You 2: Something else. [12.0 KiB, disk]",
        "48 ● You 2: And now? [-, memory] 12 · 0.5 s",
    ]
    assert all(row.main for row in rows)
    assert rows[2].facts == "10 tokens in 3 checkpoints, 3 states"


@pytest.mark.parametrize(
    ("reads", "seconds", "told"),
    [
        (24, None, "24"),
        (24, 0.05, "24 · 50 ms"),
        (1024, 7.25, "1,024 · 7.2 s"),
        (104336, 1043.0, "104,336 · 17 min"),
    ],
)
def test_the_cost_of_an_edit(reads: int, seconds: float | None, told: str) -> None:
    kept = two_branches()
    kept = replace(kept, tree=replace(kept.tree, edits=(EditCost(1, 10, reads, seconds),)))
    assert checkpoint_rows(kept)[1].cost == told
    assert len(told) <= 16  # what the column holds


def test_what_the_columns_have_no_room_for() -> None:
    rows = checkpoint_rows(two_branches())
    assert rows[3].facts == ("tokens 34 to 38, written: end of the answer · rows 4.0 KiB · state 2.0 KiB")
    assert rows[5].facts.startswith("tokens 40 to 50, read: end of the message")
    assert [row.main for row in rows] == [True, True, False, False, True, True, True]


def test_an_answer_that_was_also_read_stands_beside_itself() -> None:
    """The same words fed in another way are other checkpoints, of the same branch."""
    branch = (said("M1", "user", "Hello"), said("M2", "assistant", "Hi."), said("M3", "user", "More"))
    nodes = (
        node(None, 10, 10, 0),
        node(0, 14, 4, 1, generated=True),
        node(1, 20, 6, 2),
        node(0, 14, 4, 1),
    )
    rows = checkpoint_rows(Checkpoints(tree(nodes), (branch,), ()))
    assert [told(row).split(" [")[0] for row in rows] == [
        "10 ● You 1: Hello",
        "14 ├─● Assistant: end of the message",
        "14 ● Assistant: Hi.",
        "20 ● You 2: More",
    ]


def test_guides_of_branches_inside_branches() -> None:
    below = {"a": ["b", "c", "d"], "c": ["e", "f"], "e": ["g"], "b": ["h"]}
    found = [guides + name for guides, name in drawn(["a", "z"], lambda name: below.get(name, []))]
    assert found == ["├─z", "a", "├─c", "│ ├─f", "│ e", "│ g", "├─d", "b", "h"]


def test_the_answer_to_come_has_no_message_and_hostile_text_comes_out_clean() -> None:
    kept = two_branches("\x1b]52;c;x\x07sys", "a\nb\x1b[2J\u202e", "\x9b31m", "[bold]x[/bold]", "\u2028y")
    nodes = (*kept.tree.nodes, node(5, 52, 4, 4, cut="generation_prompt"))
    rows = checkpoint_rows(replace(kept, tree=replace(kept.tree, nodes=nodes)))
    text = "".join(told(row) + row.facts for row in rows)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2028" for char in text)
    assert "[bold]x[/bold]" in text
    assert (rows[-1].message, rows[-1].name, rows[-1].edit) == (None, "The next answer", None)


def test_thousands_of_checkpoints_are_rows_at_once() -> None:
    kept = long(2000)
    began = time.process_time()
    rows = checkpoint_rows(kept)
    assert len(rows) == len(kept.tree.nodes) == 4200
    assert len(message_rows(kept)) == 2200
    # A bar against quadratic work, which would take minutes; measured: under 0.1 s.
    assert time.process_time() - began < 2
