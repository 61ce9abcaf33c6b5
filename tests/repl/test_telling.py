"""Stored messages as text: calls beside what was said, results shortened but where all is asked for."""

from __future__ import annotations

import pytest

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.errors import UsageError
from skippy_chat.repl.telling import branch_line, history_text, result_text, tail_text

LONG = "\n".join(f"line {number}" for number in range(15))
ASKED = Message("M1", "S", None, "user", "Look.")
CALLED = Message(
    "M2",
    "S",
    "M1",
    "assistant",
    "I look.",
    tool_calls=(ToolCall("c1", "read_file", '{"path": "a\\u001b[2J.txt"}'),),
)
GAVE = Message("M3", "S", "M2", "tool", LONG, tool_call_id="c1", status="ok", detail="+new")
AGAIN = Message("M4", "S", "M3", "assistant", "", tool_calls=(ToolCall("c2", "calculator", "not JSON"),))
CUT_OFF = Message(
    "M5", "S", "M4", "tool", "Interrupted.", tool_call_id="c2", state="interrupted", status="error"
)
BRANCH = [ASKED, CALLED, GAVE, AGAIN, CUT_OFF]


def test_a_branch_in_full() -> None:
    shown = "\n".join(f"line {number}" for number in range(1, 12))
    assert history_text(BRANCH) == (
        'You 1: Look.\n\nAssistant: I look.\n→ read_file(path="a\\u001b[2J.txt")\n\n'
        f"Tool 1: ✓ line 0\n{shown}\n… 3 lines more: /result N shows all …\n\n"
        "Assistant: → calculator(not JSON)\n\nTool 2 [interrupted]: ✗ Interrupted."
    )


def test_all_of_a_result() -> None:
    assert result_text(BRANCH, "1") == f"{LONG}\n+new"
    assert result_text(BRANCH, "") == "Interrupted."
    for argument in ("0", "3", "x", "-1"):
        with pytest.raises(UsageError, match="There is no result"):
            result_text(BRANCH, argument)
    with pytest.raises(UsageError, match="No tool has given a result yet"):
        result_text(BRANCH[:2], "")


def test_what_came_last_begins_with_the_question() -> None:
    assert tail_text(BRANCH[:2]) == 'You: Look.\nAssistant: I look.\n→ read_file(path="a\\u001b[2J.txt")'
    assert tail_text([*BRANCH, Message("M6", "S", "M5", "user", "Well?")]) == "You: Well?"
    assert tail_text([]) == ""


def test_a_branch_that_ends_in_a_call_is_told_by_it() -> None:
    assert branch_line(BRANCH[:4], set()) == "You: Look. → Assistant: → calculator(not JSON)"
