"""The default model's chat template: without tools it says what the base's own says, with tools all that is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.models import default
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.library import load
from skippy_chat.native.model import Model

pytestmark = [pytest.mark.native, pytest.mark.model]

TALK = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": " indented\n"},
]
CALLS: list[dict[str, Any]] = [
    {"role": "user", "content": "What is in there, and what time is it?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "1",
                "type": "function",
                "function": {"name": "list_directory", "arguments": '{"path": "a b"}'},
            },
            {"id": "2", "type": "function", "function": {"name": "current_time", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "one.txt"},
    {"role": "tool", "tool_call_id": "2", "content": "noon"},
]


@pytest.fixture(scope="module")
def base(base_gguf: Path) -> Iterator[Model]:
    model = Model(load(), base_gguf)
    yield model
    model.close()


def rendered(template: ChatTemplate, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return template.render({"messages": messages, "add_generation_prompt": True, "now": 0, **more})


@pytest.mark.parametrize("system", [[], [{"role": "system", "content": "Be brief."}]])
@pytest.mark.parametrize("generate", [True, False])
def test_without_tools_it_is_the_bases_own(base: Model, system: list[dict[str, Any]], generate: bool) -> None:
    label = default.default_label()
    prompts = [
        rendered(ChatTemplate(base, template), [*system, *TALK], add_generation_prompt=generate)["prompt"]
        for template in (None, label.chat_template)
    ]
    assert prompts[0] == prompts[1]


def test_calls_and_results_are_where_the_model_is_taught_to_find_them(base: Model) -> None:
    schemas = Path(default.__file__).parents[1] / "agent" / "tools" / "schemas.json"
    tools = [
        {"type": "function", "function": each} for each in json.loads(schemas.read_text(encoding="utf-8"))
    ]
    reply = rendered(ChatTemplate(base, default.default_label().chat_template), CALLS, tools=tools)
    listed, _, rest = reply["prompt"].partition("</tools>")
    assert [json.loads(line) for line in listed.splitlines() if line.startswith("{")] == [
        tool["function"] for tool in tools
    ]
    assert rest.partition("<|im_end|>\n")[2] == (
        "<|im_start|>user\nWhat is in there, and what time is it?<|im_end|>\n"
        "<|im_start|>assistant\n"
        '<tool_call>\n{"name": "list_directory", "arguments": {"path": "a b"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "current_time", "arguments": {}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\none.txt\n</tool_response>\n"
        "<tool_response>\nnoon\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert reply["preserved_tokens"] == ["<tool_call>", "</tool_call>"]
