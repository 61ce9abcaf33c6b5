"""A session that was taken out, removed, and taken in again: what it keeps of its speed, and a list from elsewhere."""

from __future__ import annotations

import json

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model]

ASKED = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is in notes.txt?"})
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "notes.txt"}'},
}


def test_a_session_with_its_ledgers_hits_the_cache_again(program: Program) -> None:
    first = program.run("--session", "S", "What is the capital of France?")
    out = program.home / "S.json"
    assert program.call("sessions", "export", "S", "--ledgers", "-o", str(out)).returncode == 0
    brought = program.call("sessions", "import", str(out), "--ledgers", "--title", "T")
    assert brought.returncode == 0, brought.stderr
    # What the other one is made of stays, too.
    assert program.call("sessions", "rm", "S", "--yes").returncode == 0
    replayed = program.run("--session", "T", "--replay")["replay"]
    assert replayed["same_ids"] is True
    assert replayed["message"] != first["message"]
    second = program.run("--session", "T", "And of Italy?")
    assert second["steps"][0]["cached_tokens"] == first["steps"][0]["context_tokens"]
    assert second["steps"][0]["cache"]["source"] == "disk"


def test_a_list_from_elsewhere_is_gone_on_with(program: Program) -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    messages = json.dumps([*ASKED, called])
    brought = program.call("sessions", "import", "-", "--title", "L", stdin=messages)
    assert brought.returncode == 0, brought.stderr
    assert "1 call at the end got no result" in brought.stderr
    assert program.run("--session", "L", "Then tell me a number.")["content"]
    shown = json.loads(program.call("sessions", "show", "L", "--json").stdout)["messages"]
    assert [each["role"] for each in shown] == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert (shown[3]["content"], shown[3]["state"]) == (
        "This call was interrupted before it ran.",
        "interrupted",
    )
