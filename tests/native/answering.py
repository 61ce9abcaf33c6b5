"""What the tests of templates, parsers and grammars share: the default template and the tools it was made for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any

from skippy_chat.agent.tools.schemas import built_in_schemas
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.grammar import Grammar
from skippy_chat.native.model import Model
from skippy_chat.native.parsing import AnswerParser

NOW = 981_201_600

# For each built-in tool a call that its schema allows.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "calculator": {"expression": "(3 + 4) * 2.5"},
    "current_time": {"timezone": "Europe/Rome"},
    "edit_file": {"path": "a.txt", "old_text": 'say "hi"\n', "new_text": "</tool_call> {[\\"},
    "fetch_url": {"url": "https://example.org/ä?b=1"},
    "list_directory": {"path": "."},
    "read_file": {"path": "notes/a b.txt"},
    "run_command": {"command": "ls -l"},
    "search_files": {"pattern": "x"},
    "write_file": {"path": "a.txt", "content": "eins\nzwei\n"},
}


def default_source() -> str:
    """Return the text of the default model's template."""
    return resources.files("skippy_chat.models").joinpath("chat_template.jinja").read_text("utf-8")


def tools(*names: str) -> list[dict[str, Any]]:
    """Return built-in tools, all of them without names, as the template wants them."""
    schemas = built_in_schemas()
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": schemas[name].description,
                "parameters": dict(schemas[name].parameters),
            },
        }
        for name in names or tuple(schemas)
    ]


def request(text: str = "What is 7 * 6?", **more: Any) -> dict[str, Any]:
    """Return a request with one message."""
    return {"messages": [{"role": "user", "content": text}], "now": NOW, **more}


def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as it stands in a message."""
    return {
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }


def written(template: ChatTemplate, asked: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """Return what the template writes for an assistant's message, up to its end mark."""
    before = template.render(dict(asked))["prompt"]
    messages = [*asked["messages"], message]
    whole: str = template.render({**asked, "messages": messages, "add_generation_prompt": False})["prompt"]
    assert whole.startswith(before)
    return whole[len(before) :].partition("<|im_end|>")[0]


@contextmanager
def parser_of(model: Model, rendered: Mapping[str, Any]) -> Iterator[AnswerParser]:
    """Give the parser of a rendering, closed afterwards."""
    parser = AnswerParser(model.library, rendered["parser"])
    try:
        yield parser
    finally:
        parser.close()


@contextmanager
def grammar_of(model: Model, rendered: Mapping[str, Any]) -> Iterator[Grammar]:
    """Give the grammar of a rendering, closed afterwards."""
    grammar = Grammar(model, rendered)
    try:
        yield grammar
    finally:
        grammar.close()


def accepted(grammar: Grammar, ids: Sequence[int]) -> int:
    """Feed ids until one is refused; returns how many were taken."""
    for count, token in enumerate(ids):
        if not grammar.accept(token):
            return count
    return len(ids)
