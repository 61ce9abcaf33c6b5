"""Whatever a model writes, reading it ends well: no exception, no crash, nothing taken back."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.agent.tools.schemas import built_in_schemas
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.library import load
from skippy_chat.native.parsing import AnswerParser, AnswerStream
from skippy_chat.native.sampler import Sampler
from skippy_chat.sampling import Sampling
from tests.engine.llama_source import template_source, vocabulary
from tests.native.answering import default_source, grammar_of, request, tools

MARKS = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_call", "\n", " ", "{", "}", "[", "]", '"', ":", ",",
    "\\", '{"name": "calculator", "arguments": ', '{"expression": "1"}', "<function=calculator>", "</function>",
    "<parameter=expression>\n", "\n</parameter>\n", "<|channel|>", "analysis", "final", "commentary", "<|message|>",
    "<|end|>", "<|start|>assistant", " to=functions.calculator", "<|tool_call_start|>", "<|tool_call_end|>",
    '[calculator(expression="1")]', "calculator", "word", "ä", "😀", "\0", "\ufffd", "1",
    "<TOOLCALL>", "</TOOLCALL>", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "<|tool_call>", "call:calculator{",
    "<tool_call|>",
    "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.calculator:0", "<|tool_call_argument_begin|>",
    "<|tool_call_end|>", "<|tool_calls_section_end|>", "<|channel>thought", "<channel|>",
]  # fmt: skip
TEMPLATES = [
    "default",
    "Qwen-Qwen3-0.6B",
    "Qwen3.5-4B",
    "openai-gpt-oss-120b",
    "LFM2.5-8B-A1B",
    "google-gemma-4-31B-it",
    "NVIDIA-Nemotron-Nano-v2",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "moonshotai-Kimi-K2",
    "meta-llama-Llama-3.1-8B-Instruct",
]


@functools.cache
def rendered(name: str, thinking: bool, choice: str = "auto") -> dict[str, Any]:
    source = default_source() if name == "default" else template_source(name)
    chat = ChatTemplate(vocabulary("qwen35"), source)
    asked = tools("calculator") if choice == "auto" else tools("calculator", "edit_file", "current_time")
    try:
        return chat.render(request(tools=asked, enable_thinking=thinking, tool_choice=choice))
    finally:
        chat.close()


@functools.cache
def parser(name: str, thinking: bool) -> AnswerParser:
    return AnswerParser(load(), rendered(name, thinking)["parser"])


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(MARKS), max_size=14), thinking=st.booleans())
def test_stream_shows_a_beginning_of_what_the_answer_says(
    name: str, pieces: list[str], thinking: bool
) -> None:
    reader = parser(name, thinking)
    now = iter(range(10_000))
    stream = AnswerStream(reader, lambda: float(next(now)))
    content = reasoning = ""
    calls: dict[int, str] = {}
    for piece in pieces:
        for letter in piece:
            delta = stream.feed(letter)
            content += delta.content
            reasoning += delta.reasoning
            for each in delta.calls:
                calls[each.index] = calls.get(each.index, "") + each.arguments
    assert stream.text == "".join(pieces)
    answer = reader.parse(stream.text, partial=False)
    assert answer.complete == (answer.error is None)
    assert answer.content.startswith(content)
    assert answer.reasoning.startswith(reasoning)
    for index, arguments in calls.items():
        assert index >= len(answer.calls) or answer.calls[index].arguments.startswith(arguments)


# LFM2.5 writes Python literals, and its grammar allows strings there that its parser does not turn into JSON.
@pytest.mark.parametrize("name", [name for name in TEMPLATES if not name.startswith("LFM2.5")])
@pytest.mark.parametrize("seed", range(3))
def test_what_a_grammar_lets_through_is_read_as_calls(name: str, seed: int) -> None:
    model = vocabulary("qwen35")
    reply = rendered(name, thinking=False, choice="required")
    random = np.random.default_rng(seed)
    # A model of noise, with a liking for what ends a text, a value and an answer.
    ends = np.unique([token for mark in MARKS for token in model.tokenize(mark, special=True)])
    sampler = Sampler(model.library, Sampling(seed=seed), model.n_vocab)
    answer: list[int] = []
    ended = False
    with grammar_of(model, reply) as grammar:
        while len(answer) < 300 and not ended:
            row = random.normal(size=model.n_vocab).astype(np.float32)
            row[ends] += random.uniform(2, 8)
            row[model.library.api.llama_vocab_eos(model.vocab)] += 12
            token = sampler.choose(row, grammar)
            ended = model.is_end(token)
            if not ended:
                answer.append(token)
    sampler.close()
    reader = AnswerParser(load(), reply["parser"])
    read = reader.parse(model.spell(answer), partial=not ended)
    reader.close()
    assert read.error is None
    if ended:
        assert read.complete
        assert read.calls
    for call in read.calls[: None if ended else -1]:
        arguments = json.loads(call.arguments)
        assert isinstance(arguments, dict)
        if name.startswith("google-gemma-4"):
            continue  # its grammar does not look into arguments
        allowed = built_in_schemas()[call.name].parameters
        assert set(allowed["required"]) <= set(arguments) <= set(allowed["properties"])
        assert all(isinstance(value, str) for value in arguments.values())
