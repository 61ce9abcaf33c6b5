"""Tools of a script on the default model: forced by the grammar, so that it depends on no model's wits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from skippy_chat import Verdict, tool
from skippy_chat.errors import ConfigError, UsageError
from skippy_chat.events import ApprovalNeeded
from tests.api.conftest import Open

pytestmark = [pytest.mark.native, pytest.mark.model]

Colour = Literal["red", "green"]


@tool(read_only=True)
def mix(first: Colour, second: Colour) -> str:
    """Say what two colours give when they are mixed."""
    return f"{first} and {second} give brown"


def paint(colour: Colour) -> str:
    """Paint the house in a colour."""
    return f"The house is {colour} now."


def test_a_function_is_called_and_its_result_read(open_chat: Open) -> None:
    with open_chat(tools=[mix], max_tokens=200) as chat:
        assert [(each.name, each.approval) for each in chat.tools] == [("mix", "allow")]
        reply = chat.ask("What do red and green give?", tool_choice="required")
        (call,) = reply.steps[0].tool_calls
        assert call.status == "ok"
        assert call.arguments.keys() == {"first", "second"}
        assert call.result == f"{call.arguments['first']} and {call.arguments['second']} give brown"
        assert reply.tool_calls[0] == call
        before, after = (step.usage for step in reply.steps[:2])
        # The second step reads the result and what the template writes around it, and nothing else.
        assert after.cached_tokens == before.context_tokens
        assert after.cached_tokens + after.prefilled_tokens == after.prompt_tokens
        kept = [(message.role, message.status) for message in chat.messages[:3]]
        assert kept == [("user", None), ("assistant", None), ("tool", "ok")]
        assert chat.messages[1].tool_calls[0].id == call.id == chat.messages[2].tool_call_id


def test_a_loop_goes_on_in_another_process_and_reads_only_the_result(open_chat: Open) -> None:
    with open_chat(session="S", tools=[mix], max_tokens=200, settings={"max_steps": 1}) as chat:
        stopped = chat.ask("What do red and green give?", tool_choice="required")
        assert stopped.finish_reason == "tool_calls"
        assert [message.role for message in chat.messages] == ["user", "assistant", "tool"]
    with open_chat(session="S", tools=[mix]) as chat:
        reply = chat.go_on()
        assert reply.steps[0].cache.source == "disk"
        usage = reply.steps[0].usage
        assert usage.cached_tokens == stopped.usage.context_tokens
        assert usage.cached_tokens + usage.prefilled_tokens == usage.prompt_tokens
        assert chat.messages[3].id == reply.message or len(reply.steps) > 1


def test_none_calls_nothing(open_chat: Open) -> None:
    with open_chat(tools=[mix]) as chat:
        reply = chat.ask("What do red and green give?", tool_choice="none")
        assert reply.tool_calls == ()
        assert len(reply.steps) == 1


def test_what_changes_something_is_denied_where_nobody_is_asked(open_chat: Open) -> None:
    with open_chat(tools=[paint], max_tokens=200) as chat:
        reply = chat.ask("Paint the house red.", tool_choice="required")
        call = reply.steps[0].tool_calls[0]
        assert call.status == "denied"
        assert "nobody can be asked" in call.result


def test_the_script_is_asked_and_its_word_counts(open_chat: Open) -> None:
    asked: list[ApprovalNeeded] = []

    def decide(each: ApprovalNeeded) -> bool | Verdict:
        asked.append(each)
        return True if len(asked) == 1 else Verdict(allowed=False, reason="Once is enough.")

    with open_chat(tools=[paint], on_approval=decide, max_tokens=200) as chat:
        painted = chat.ask("Paint the house red.", tool_choice="required").steps[0].tool_calls[0]
        again = chat.ask("Paint it once more.", tool_choice="required").steps[0].tool_calls[0]
    assert painted.status == "ok"
    assert painted.result.startswith("The house is ")
    assert again.status == "denied"
    assert "Once is enough." in again.result
    assert [each.name for each in asked[:2]] == ["paint", "paint"]
    assert "paint" in asked[0].text


def test_approve_all_asks_nobody(open_chat: Open) -> None:
    with open_chat(tools=[paint], approve="all", max_tokens=200) as chat:
        reply = chat.ask("Paint the house red.", tool_choice="required")
        assert reply.steps[0].tool_calls[0].status == "ok"


def test_built_in_tools_stay_in_the_workspace_of_the_script(open_chat: Open) -> None:
    with open_chat(tools=["list_directory", mix], max_tokens=60) as chat:
        assert [each.name for each in chat.tools] == ["list_directory", "mix"]
        assert {each.approval for each in chat.tools} == {"allow"}


@pytest.mark.parametrize(
    ("tools", "error", "word"),
    [
        (["calculater"], ConfigError, "Did you mean calculator"),
        ([3], UsageError, "no tool"),
        ([mix, mix], ConfigError, "two tools named mix"),
        ([lambda x: x], ConfigError, "lambda"),
    ],
)
def test_tools_that_are_none_are_told_before_anything_is_opened(
    tools: Any, error: type[Exception], word: str, open_chat: Open
) -> None:
    with pytest.raises(error, match=word):
        open_chat(tools=tools)


def test_the_order_of_tools_and_the_folder_are_no_part_of_the_prompt(open_chat: Open, tmp_path: Path) -> None:
    """Elsewhere: unsorted tools, a clock or a folder in the system prompt defeated all reuse."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with open_chat(system="Be brief.", tools=[mix, paint, "calculator"]) as chat:
        first = chat.ask("Name a colour.")
    with open_chat(system="Be brief.", tools=["calculator", paint, mix], workspace=elsewhere) as chat:
        second = chat.ask("Name a fish.")
    assert second.usage.prefilled_tokens < 20
    assert second.usage.cached_tokens > first.usage.prompt_tokens - 20


class Flag(BaseModel):
    colours: tuple[Colour, Colour]
    stripes: Literal[2, 3]


def test_an_answer_is_data_by_its_schema_and_calls_nothing(open_chat: Open) -> None:
    with open_chat(tools=[mix], max_tokens=400) as chat:
        flag = chat.ask("Invent a flag.", json_schema=Flag)
        assert isinstance(flag.parsed, Flag)
        assert flag.tool_calls == ()
        numbers = chat.ask(
            "Name a number.",
            json_schema={
                "type": "object",
                "properties": {"n": {"enum": [1, 2]}},
                "required": ["n"],
                "additionalProperties": False,
            },
        )
        assert numbers.parsed in ({"n": 1}, {"n": 2})
        # The answers were kept as they were fed: the next turn reads the question alone.
        assert numbers.usage.cached_tokens == flag.usage.context_tokens
