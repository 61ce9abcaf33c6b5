"""The cache in words: a tree of rows, drawn or told, and what a text would cost."""

from __future__ import annotations

import pytest

from skippy_chat.agent.looking import Checkpoints, Miss
from skippy_chat.cache_wording import amend_line, foreseen_line, summary_lines, tree_lines, tree_sentences
from skippy_chat.chat.messages import Message, Role
from skippy_chat.engine.questions import CheckpointTree, EditCost, Foreseen, TreeNode
from skippy_chat.events import MissReason


def said(name: str, role: Role, content: str) -> Message:
    return Message(name, "S", None, role, content)


SYSTEM = said("M1", "system", "Be brief.")
ASKED = said("M2", "user", "Hello\x1b[2J there, this is a text that is longer than a row has room for")
ANSWERED = said("M3", "assistant", "Hi.")
NEXT = said("M4", "user", "And now?")
OTHER = said("M5", "user", "Something else.")
OLDER = said("M6", "user", "Before all that.")


def node(
    parent: int | None, position: int, tokens: int, branch: int, message: int, *, live: bool = False
) -> TreeNode:
    state = 1024 if tokens > 1 else 0
    return TreeNode(
        parent=parent,
        position=position,
        tokens=tokens,
        branch=branch,
        message=message,
        cut="end_of_message",
        generated=False,
        stored=True,
        live=live,
        has_state=state > 0,
        has_logits=False,
        row_bytes=1024 * tokens,
        state_bytes=state,
        logits_bytes=0,
    )


NODES = (
    node(None, 10, 10, 0, 0, live=True),
    node(0, 30, 20, 0, 1, live=True),
    node(1, 31, 1, 0, 2),
    node(2, 40, 9, 0, 2),
    node(3, 48, 8, 0, 3),
    node(3, 50, 10, 1, 3),
    node(0, 16, 6, 2, 1),
)
EDITS = (EditCost(0, 0, 12, None), EditCost(1, 10, 22, None), EditCost(3, 40, 10, 0.5))
BRANCHES = ((SYSTEM, ASKED, ANSWERED, NEXT), (SYSTEM, ASKED, ANSWERED, OTHER), (SYSTEM, OLDER))
KEPT = Checkpoints(CheckpointTree(NODES, EDITS, 50, 30, 3 << 20, 300 << 20), BRANCHES, ())


def test_the_current_branch_goes_straight_down_and_others_leave_it() -> None:
    assert tree_lines(KEPT) == [
        "     10  System: Be brief. · 10 tokens on disk and in memory, 11.0 KiB, 1 state",
        "├─      16  You 1: Before all that. · 6 tokens on disk, 7.0 KiB, 1 state",
        (
            "     30  You 1: Hello there, this is a text that is lon… · 20 tokens on disk and in memory, 21.0 KiB, "
            "1 state · an edit resumes at 10 and reads 22 tokens"
        ),
        "     40  Assistant: Hi. · 10 tokens on disk, 11.0 KiB, 1 state",
        "├─      50  You 2: Something else. · 10 tokens on disk, 11.0 KiB, 1 state",
        (
            "     48  You 2: And now? · 8 tokens on disk, 9.0 KiB, 1 state · an edit resumes at 40 and reads "
            "10 tokens, about 0.5 s"
        ),
    ]


def test_the_same_in_sentences() -> None:
    assert tree_sentences(KEPT) == [
        "System, “Be brief.”, ends at token 10: 10 tokens on disk and in memory, 11.0 KiB, 1 state.",
        "Another branch after token 10:",
        "You 1, “Before all that.”, ends at token 16: 6 tokens on disk, 7.0 KiB, 1 state.",
        "The current branch goes on:",
        (
            "You 1, “Hello there, this is a text that is lon…”, ends at token 30: 20 tokens on disk and in memory, "
            "21.0 KiB, 1 state. An edit resumes at 10 and reads 22 tokens."
        ),
        "Assistant, “Hi.”, ends at token 40: 10 tokens on disk, 11.0 KiB, 1 state.",
        "Another branch after token 40:",
        "You 2, “Something else.”, ends at token 50: 10 tokens on disk, 11.0 KiB, 1 state.",
        "The current branch goes on:",
        (
            "You 2, “And now?”, ends at token 48: 8 tokens on disk, 9.0 KiB, 1 state. An edit resumes at 40 and reads "
            "10 tokens, about 0.5 s."
        ),
    ]


def test_a_branch_inside_a_branch_is_drawn_inside_it() -> None:
    nodes = (node(None, 10, 10, 0, 0), node(None, 9, 9, 1, 0), node(1, 19, 10, 2, 1), node(1, 18, 9, 1, 1))
    kept = Checkpoints(CheckpointTree(nodes, (), 0, 0, 0, 1), ((SYSTEM,), (OTHER, NEXT), (OTHER, OLDER)), ())
    assert [line.split(" · ")[0] for line in tree_lines(kept)] == [
        "├─       9  You 1: Something else.",
        "│  ├─      19  You 2: Before all that.",
        "│       18  You 2: And now?",
        "     10  System: Be brief.",
    ]
    assert [line for line in tree_sentences(kept) if line.endswith(":")] == [
        "Another branch from the beginning:",
        "Another branch after token 9:",
        "Another branch after token 9:",
        "The current branch goes on:",
    ]


def test_the_sum_the_budget_and_the_last_misses() -> None:
    reason = MissReason("evicted", 40, 3, "no state is kept there")
    misses = tuple(Miss("T", f"M{at}", at, 1048, 40, reason, 0) for at in (1, 2, 4, 4, 5, 9))
    lines = summary_lines(Checkpoints(KEPT.tree, BRANCHES, misses))
    assert lines[:3] == [
        "This session: 7 checkpoints, 70.0 KiB on disk, its shared parts included.",
        "In memory now: 30 tokens.",
        "The cache of all models: 3.0 MiB of its budget of 300 MiB (1 %).",
    ]
    assert len(lines) == 8
    assert lines[3] == (
        "Missed at “Hello there, this is a text that is lon…”, step 2: 40 of 1,048 tokens reused; "
        "evicted at token 40: no state is kept there."
    )
    assert lines[-1].startswith("Missed at an earlier message, step 9: ")


def test_nothing_kept_and_nothing_stored() -> None:
    off = MissReason("off")
    kept = Checkpoints(CheckpointTree((), (), 0, 0, 0, 0, off), (), ())
    assert tree_lines(kept) == tree_sentences(kept) == []
    assert summary_lines(kept) == [
        "Nothing is kept of this session yet.",
        "In memory now: 0 tokens.",
        "Nothing is stored: the cache is off.",
    ]


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (Foreseen(18611, 18432, "disk", None, None, 32768), "resumes at 18,432 of 18,611"),
        (Foreseen(18611, 18432, "disk", None, 1.25, 32768), "resumes at 18,432 of 18,611 · about 1.2 s"),
        (
            Foreseen(100, 60, "live", MissReason("diverged", 80, 3), 0.05, 1024),
            "resumes at 60 of 100 · about 50 ms · diverged at token 80",
        ),
        (Foreseen(100, 100, "disk", None, 0.0, 1024), "resumes at 100 of 100"),
        (
            Foreseen(100, 0, "none", MissReason("nothing_stored"), None, 1024),
            "reads all 100 tokens · nothing stored",
        ),
        (Foreseen(1024, 60, "disk", None, 1.0, 1024), "does not fit: 1,024 tokens, the context holds 1,024"),
    ],
)
def test_what_a_text_would_cost(told: Foreseen, line: str) -> None:
    assert foreseen_line(told) == line


def test_an_answer_that_is_changed_tells_where_the_next_turn_goes_on_and_nothing_of_what_it_reads() -> None:
    assert amend_line(EditCost(3, 1024, 77, 2.0)) == (
        "changed from its start: the next turn resumes at 1,024 or later"
    )
