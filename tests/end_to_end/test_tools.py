"""Tools as a person would use them: ``run`` on the default model, its calls forced by the grammar."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.model, pytest.mark.native, pytest.mark.timeout(300)]

FORCED = ("-c", "tool_choice=required", "--max-tokens", "60")
MINE = '''
from skippy_chat.agent.tools.function import tool


@tool(read_only=True)
def harbour() -> str:
    """Tell the colour of the harbour."""
    return "teal"
'''


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    return "mine.py"


def check_counts(steps: list[dict[str, Any]]) -> None:
    for step in steps:
        assert step["cached_tokens"] + step["prefilled_tokens"] == step["prompt_tokens"]
    for step, after in itertools.pairwise(steps):
        assert after["cached_tokens"] == step["context_tokens"], "a step read more than what is new"


def test_steps_show_the_calls_and_what_they_gave(program: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The harbour is teal.\n")
    done = program.call(
        "run",
        *program.options,
        *FORCED,
        "--json",
        "--tools",
        "list_directory,read_file",
        "What files are here?",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    first, *rest = told["steps"]
    assert rest, "no step followed the call"
    assert (first["finish_reason"], len(first["tool_calls"])) == ("tool_calls", 1)
    (call,) = first["tool_calls"]
    assert call["id"]
    assert call["name"] in {"list_directory", "read_file"}
    assert isinstance(call["arguments"], dict)
    assert call["status"] in {"ok", "error"}  # the model may well name a file that is not there
    assert call["result"]
    assert f"→ {call['name']}(" in done.stderr
    check_counts(told["steps"])
    shown = program.call("sessions", "show", told["session"])
    assert f"→ {call['name']} {{" in shown.stdout
    assert f"\nTool {call['name']} " in shown.stdout


def test_a_session_goes_on_with_its_tools_in_a_new_process(program: Program, mine: str) -> None:
    asked = (*FORCED, "--session", "port", "--tool-file", mine, "What colour is the harbour?")
    expected = {"name": "harbour", "arguments": {}, "status": "ok", "result": "teal"}
    told = program.run(*asked)
    again = program.run(*asked)
    for turn in (told, again):
        (call,) = turn["steps"][0]["tool_calls"]
        assert {key: call[key] for key in expected} == expected
        check_counts(turn["steps"])
    first = again["steps"][0]
    assert first["cache"]["source"] == "disk"
    assert first["cached_tokens"] >= told["steps"][-1]["prompt_tokens"]


def test_a_limit_ends_the_turn_with_what_was_done(program: Program, mine: str) -> None:
    done = program.call(
        "run", *program.options, *FORCED, "--json", "--tool-file", mine, "--max-steps", "1", "What colour?"
    )
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["finish_reason"] == "tool_calls"
    assert [each["result"] for each in told["steps"][0]["tool_calls"]] == ["teal"]


def test_an_answer_is_json_by_a_schema(program: Program) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}, "sure": {"type": "boolean"}},
        "required": ["colour", "sure"],
        "additionalProperties": False,
    }
    told = program.run("--max-tokens", "60", "--json-schema", json.dumps(schema), "Which colour is grass?")
    answer = json.loads(told["content"])
    assert answer["colour"] in {"red", "green"}
    assert isinstance(answer["sure"], bool)
    assert told["finish_reason"] == "stop"
