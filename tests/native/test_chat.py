"""The default template is recognised, whatever is asked of it, and what cannot be done is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skippy_chat.agent.tools.schemas import built_in_schemas
from skippy_chat.errors import ModelFileError, NativeError, TemplateRefused
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.model import Model
from tests.engine.llama_source import template_source
from tests.native.answering import ARGUMENTS, accepted, call, grammar_of, parser_of, request, tools, written


def test_every_built_in_tool_has_a_call_to_test() -> None:
    assert set(ARGUMENTS) == set(built_in_schemas())


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_call_of_a_built_in_tool_is_read_as_the_template_writes_it_and_passes_the_grammar(
    vocabulary: Model, template: ChatTemplate, name: str
) -> None:
    asked = request(tools=tools())
    rendered = template.render(asked)
    text = written(
        template,
        asked,
        {"role": "assistant", "content": "One moment.", "tool_calls": [call(name, ARGUMENTS[name])]},
    )
    with parser_of(vocabulary, rendered) as parser:
        answer = parser.parse(text, partial=False)
    assert (answer.complete, answer.error, answer.content.rstrip("\n")) == (True, None, "One moment.")
    assert [(each.name, json.loads(each.arguments)) for each in answer.calls] == [(name, ARGUMENTS[name])]

    ids = vocabulary.tokenize(text, special=True)
    with grammar_of(vocabulary, rendered) as grammar:
        assert accepted(grammar, ids) == len(ids)
        assert grammar.is_active
        assert grammar.allows(vocabulary.library.api.llama_vocab_eos(vocabulary.vocab))


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_one_tool_can_be_asked_for(vocabulary: Model, template: ChatTemplate, name: str) -> None:
    asked = request(tools=tools())
    rendered = template.render({**asked, "tool_choice": {"type": "function", "function": {"name": name}}})
    assert rendered["prompt"] == template.render(asked)["prompt"]
    assert rendered["grammar_start"] == "answer"
    message = {"role": "assistant", "content": "", "tool_calls": [call(name, ARGUMENTS[name])]}
    ids = vocabulary.tokenize(written(template, asked, message), special=True)
    other = next(each for each in ARGUMENTS if each != name)
    wrong = {"role": "assistant", "content": "", "tool_calls": [call(other, ARGUMENTS[other])]}
    wrong_ids = vocabulary.tokenize(written(template, asked, wrong), special=True)
    with grammar_of(vocabulary, rendered) as grammar:
        assert accepted(grammar, ids) == len(ids)
        grammar.reset()
        assert accepted(grammar, wrong_ids) < len(wrong_ids)


def test_two_calls_in_one_answer(vocabulary: Model, template: ChatTemplate) -> None:
    asked = request(tools=tools(), parallel_tool_calls=True)
    rendered = template.render(asked)
    calls = [call("calculator", ARGUMENTS["calculator"]), call("read_file", ARGUMENTS["read_file"])]
    text = written(template, asked, {"role": "assistant", "content": "", "tool_calls": calls})
    with parser_of(vocabulary, rendered) as parser, grammar_of(vocabulary, rendered) as grammar:
        answer = parser.parse(text, partial=False)
        ids = vocabulary.tokenize(text, special=True)
        assert accepted(grammar, ids) == len(ids)
    assert answer.complete
    assert [each.name for each in answer.calls] == ["calculator", "read_file"]


def test_answer_by_a_schema(vocabulary: Model, template: ChatTemplate) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    rendered = template.render(request(json_schema=schema))
    assert rendered["grammar_start"] == "generation_prompt"
    good = vocabulary.tokenize('{"n": 42}', special=False)
    bad = vocabulary.tokenize('{"n": "42"}', special=False)
    with parser_of(vocabulary, rendered) as parser, grammar_of(vocabulary, rendered) as grammar:
        assert accepted(grammar, good) == len(good)
        assert grammar.allows(vocabulary.library.api.llama_vocab_eos(vocabulary.vocab))
        grammar.reset()
        assert accepted(grammar, bad) < len(bad)
        answer = parser.parse('{"n": 42}', partial=False)
    assert (answer.complete, answer.content) == (True, '{"n": 42}')


def test_answer_begun_is_continued(vocabulary: Model, template: ChatTemplate) -> None:
    begun = request(tools=tools("calculator"))
    begun["messages"].append({"role": "assistant", "content": "It is"})
    rendered = template.render({**begun, "continue_final_message": True})
    assert rendered["prompt"].endswith("<|im_start|>assistant\nIt is")
    assert rendered["parser"]["is_continuation"]
    with parser_of(vocabulary, rendered) as parser:
        assert parser.parse(" 42.", partial=False).content == "It is 42."


def test_without_tools_nothing_is_constrained(template: ChatTemplate) -> None:
    for asked in (request(), request(tools=tools(), tool_choice="none")):
        assert template.render(asked)["grammar"] == ""


def test_template_without_a_form_for_calls_says_so(vocabulary: Model) -> None:
    plain = ChatTemplate(vocabulary, "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    with pytest.raises(TemplateRefused, match="no form for calls") as told:
        plain.render(request(tools=tools("calculator"), tool_choice="required"))
    assert "a required call" in told.value.hint
    plain.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"now": None},
        {"messages": []},
        {"mesages": []},
        {"tool_choice": "all"},
        {"tool_choice": "required"},
        {"tools": [{"type": "function"}]},
        {"continue_final_message": True},
        {"json_schema": "object"},
        {"reasoning_format": "loud"},
    ],
)
def test_wrong_request_is_refused_with_a_reason(template: ChatTemplate, wrong: dict[str, Any]) -> None:
    with pytest.raises(NativeError, match=r"The chat template refused the conversation: .+"):
        template.render({**request(), **wrong})


def test_template_that_cannot_be_read_is_refused(vocabulary: Model) -> None:
    with pytest.raises(ModelFileError):
        ChatTemplate(vocabulary, "{% for %}")


@pytest.mark.parametrize(
    ("template", "thinks"),
    [("Qwen-Qwen3-0.6B", True), ("Qwen3.5-4B", True), ("Qwen-Qwen2.5-7B-Instruct", False)],
)
def test_whether_a_template_knows_reasoning(vocabulary: Model, template: str, thinks: bool) -> None:
    chat = ChatTemplate(vocabulary, template_source(template))
    assert chat.thinks() is thinks
    chat.close()


def test_a_template_that_refuses_a_lone_question_knows_no_reasoning(vocabulary: Model) -> None:
    chat = ChatTemplate(vocabulary, "{{ raise_exception('Never.') }}")
    assert not chat.thinks()
    chat.close()
