"""One matcher for bytes, characters, stops, thoughts and calls: what is read does not depend on how it arrived."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.engine.answering import AnswerReader, ReadAnswer
from skippy_chat.engine.call_ids import CallIds
from skippy_chat.engine.forming import Answering
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.engine.rendering import Asked, Renderer
from skippy_chat.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.library import load
from skippy_chat.native.model import Model, TokenFlag
from skippy_chat.native.parsing import AnswerParser, AnswerStream, reads_all_as_content
from skippy_chat.sampling import Sampling
from tests.engine.llama_source import template_source, vocabulary
from tests.native.answering import NOW, default_source, request, tools
from tests.native.test_any_answer import MARKS, TEMPLATES

CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "6 * 7"}}\n</tool_call>'
THOUGHT = "<|channel|>analysis<|message|>Hm.<|end|>"
C_SPACE = " \t\n\v\f\r"  # what the parser takes for white space
FEW = settings(max_examples=60, deadline=None)


@functools.cache
def rendered(name: str, *, thinking: bool = True, offered: bool = True) -> dict[str, Any]:
    source = default_source() if name == "default" else template_source(name)
    chat = ChatTemplate(vocabulary("qwen35"), source)
    more: dict[str, Any] = {"tools": tools("calculator")} if offered else {}
    try:
        return chat.render(request(enable_thinking=thinking, **more))
    finally:
        chat.close()


@functools.cache
def parser(name: str, *, thinking: bool = True, offered: bool = True) -> AnswerParser:
    return AnswerParser(load(), rendered(name, thinking=thinking, offered=offered)["parser"])


class Shown:
    """What a face would have after all deltas."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ReasoningDelta))

    @property
    def calls(self) -> dict[str, tuple[str, str]]:
        calls: dict[str, tuple[str, str]] = {}
        for event in self.events:
            if isinstance(event, ToolCallDelta):
                assert event.call
                name, arguments = calls.get(event.call, ("", ""))
                assert bool(name) != bool(event.name)
                calls[event.call] = (name or event.name, arguments + event.arguments)
        return calls


def read(
    name: str,
    pieces: Sequence[bytes],
    *,
    stops: Sequence[str] = (),
    patience: float = 1.0,
    offered: bool = True,
) -> tuple[ReadAnswer, Shown, int]:
    """Read pieces as if each was a token; ``patience`` is how much time goes by between two looks at the clock."""
    shown = Shown()
    now = iter(range(1_000_000))
    reader = AnswerReader(
        lambda token: pieces[token],
        shown.events.append,
        stops=stops,
        stream=AnswerStream(parser(name, offered=offered), lambda: next(now) * patience),
        ids=CallIds(()),
        calls_asked=offered,
        end_tags=rendered(name, offered=offered)["thinking_end_tags"],
    )
    taken = 0
    for taken in range(len(pieces)):
        if reader.take(taken):
            break
    return reader.end(), shown, taken


@st.composite
def splits(draw: st.DrawFn, raw: bytes) -> list[bytes]:
    cuts = sorted(draw(st.sets(st.integers(0, len(raw)))))
    return [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


@pytest.mark.parametrize("name", TEMPLATES)
@FEW
@given(data=st.data())
def test_what_is_read_does_not_depend_on_how_it_was_split(name: str, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(MARKS), max_size=12)))
    stops = data.draw(st.lists(st.sampled_from(["word", "ä", "\n\n", "</s>", "}}", ""]), max_size=2))
    raw = text.encode()
    whole, _, _ = read(name, [raw], stops=stops)
    patience = data.draw(st.sampled_from([0.0, 0.02, 1.0]))
    answer, shown, _ = read(name, data.draw(splits(raw)), stops=stops, patience=patience)
    assert answer == whole
    # What was shown is what is told in the end, or the beginning of a text that has turned out to be none.
    if not answer.malformed:
        assert shown.text == answer.text
        assert shown.reasoning.strip() == answer.reasoning.strip()
        assert shown.calls == {call.id: (call.name, call.arguments) for call in answer.calls}
    assert all(isinstance(json.loads(call.arguments), dict) for call in answer.calls)


@FEW
@given(data=st.data())
def test_broken_bytes_end_as_replacement_characters_wherever_they_are_split(data: st.DataObject) -> None:
    raw = data.draw(st.binary(max_size=12)) + "é😀".encode() + data.draw(st.binary(max_size=6))
    answer, shown, _ = read("default", data.draw(splits(raw)))
    # The parser leaves out white space at the start, so that nothing of it is shown before a call.
    assert answer.text == raw.decode("utf-8", "replace").lstrip(C_SPACE) == shown.text


def test_no_part_of_a_stop_and_nothing_behind_it_is_shown() -> None:
    answer, shown, taken = read("default", [b"one <", b"/", b"s", b"> two", b"three"], stops=["</s>"])
    assert (answer.text, shown.text, taken) == ("one ", "one ", 3)


def test_what_may_become_a_stop_is_held_back_and_shown_at_the_end() -> None:
    answer, shown, _ = read("default", [b"one ", b"</"], stops=["</s>"])
    assert (answer.text, shown.text) == ("one </", "one </")


def test_the_end_of_a_character_completes_a_stop() -> None:
    """The end flush passes the same matcher: bytes that never became a character are one, and may end a stop."""
    answer, shown, _ = read("default", [b"a<", "é".encode()[:1]], stops=["<\ufffd"])
    assert (answer.text, shown.text) == ("a", "a")


def test_text_is_shown_with_the_token_that_brings_it() -> None:
    """As long as tokens do not come faster than text is looked at, which is every 30 ms."""
    shown = Shown()
    now = [0.0]
    stream = AnswerStream(parser("default"), lambda: now[0])
    reader = AnswerReader(lambda token: b"word ", shown.events.append, stream=stream)
    for count in range(20):
        now[0] += 0.031
        reader.take(0)
        # A blank at the end may be the one before a call.
        assert shown.text.split() == ["word"] * (count + 1)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        # Its generation prompt opens the thoughts, so only the end of them is in the answer.
        ("Qwen3.5-4B", "I think.\n</think>\n\nYes.", ("Yes.", "I think.\n")),
        ("Qwen-Qwen3-0.6B", "<think>\nI think.\n</think>\n\nYes.", ("Yes.", "I think.\n")),
        ("Qwen-Qwen3-0.6B", "<think>\n\n</think>\n\nYes.", ("Yes.", "")),
        ("Qwen-Qwen3-0.6B", "Yes.", ("Yes.", "")),
        ("Qwen3.5-4B", "I think and think", ("", "I think and think")),
        ("openai-gpt-oss-120b", f"{THOUGHT}<|start|>assistant<|channel|>final<|message|>Yes.", ("Yes.", "Hm.")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("offered", [True, False])
def test_thoughts_are_set_apart(name: str, text: str, expected: tuple[str, str], offered: bool) -> None:
    answer, shown, _ = read(name, [letter.encode() for letter in text], offered=offered)
    assert (answer.text, answer.reasoning) == expected
    assert (shown.text, shown.reasoning.strip()) == (expected[0], expected[1].strip())
    assert answer.malformed == ""


def test_white_space_between_thoughts_and_a_call_is_no_content() -> None:
    answer, shown, _ = read("Qwen-Qwen3-0.6B", [f"<think>\nHm.\n</think>\n\n\n{CALL}".encode()])
    assert (answer.text, shown.text) == ("", "")
    assert len(answer.calls) == 1


@pytest.mark.parametrize(
    "name", ["Mistral-Small-3.2-24B-Instruct-2506", "mistralai-Mistral-Nemo-Instruct-2407"]
)
@FEW
@given(data=st.data())
def test_the_model_s_own_id_is_in_the_first_delta(name: str, data: st.DataObject) -> None:
    """One writes it before the arguments, the other behind them."""
    texts = {
        "Mistral-Small-3.2-24B-Instruct-2506": '[TOOL_CALLS]calculator[CALL_ID]abcdefghi[ARGS]{"expression": "1"}',
        "mistralai-Mistral-Nemo-Instruct-2407": '[TOOL_CALLS][{"name": "calculator", "arguments": {"expression": "1"}, '
        '"id": "abcdefghi"}]',
    }
    model = vocabulary("qwen35")
    template = ChatTemplate(model, template_source(name))
    renderer = Renderer(model, template)
    assert renderer.writes_ids()
    asked = StepRequest("s", "t", request()["messages"], Sampling(), tools=tools("calculator"))
    rendering = renderer.ask(asked.messages, {}, Asked(NOW, thinking=True, tools=asked.tools))
    shown = Shown()
    step = data.draw(st.sampled_from([0.0, 0.02, 1.0]))
    now = iter(range(1_000_000))
    ids = [token for letter in texts[name] for token in model.tokenize(letter, special=False)]
    answering = Answering(model, asked, rendering, renderer, shown.events.append, lambda: next(now) * step)
    with answering:
        for token in ids:
            answering.reader.take(token)
        answer = answering.reader.end()
    assert shown.calls == {"abcdefghi": ("calculator", '{"expression": "1"}')}
    assert [call.id for call in answer.calls] == ["abcdefghi"]
    template.close()


def control_tokens(model: Model) -> list[int]:
    return [token for token in range(model.n_vocab) if model.flags(token) & TokenFlag.CONTROL]


@pytest.mark.parametrize("name", ["MiniMax-M2", "default"])
def test_control_tokens_leave_no_text_but_those_that_the_parser_wants(name: str) -> None:
    """``<think>`` is a control token of some vocabularies; another one that a model draws by mistake is not shown."""
    model = vocabulary("qwen35")
    source = default_source() if name == "default" else template_source(name)
    template = ChatTemplate(model, source)
    renderer = Renderer(model, template)
    asked = StepRequest("s", "t", request()["messages"], Sampling())
    rendering = renderer.ask(asked.messages, {}, Asked(NOW, thinking=True))
    preserved = {*rendering.reply["preserved_token_ids"]}
    answering = Answering(model, asked, rendering, renderer, lambda _event: None, lambda: 0.0)
    with answering:
        bytes_of = answering.reader._bytes_of
        for token in {*control_tokens(model), *preserved}:
            assert bytes_of(token) == (
                model.spell([token]).encode() if token in preserved else model.piece(token)
            )
        assert bytes_of(model.tokenize("word", special=False)[0]) == b"word"
    assert not any(model.piece(token) for token in set(control_tokens(model)) - preserved)
    template.close()


@pytest.mark.parametrize(
    ("name", "offered", "plain"),
    [
        ("default", False, True),
        ("Qwen-Qwen2.5-7B-Instruct", False, True),
        ("meta-llama-Llama-3.1-8B-Instruct", False, True),
        ("mistralai-Mistral-Nemo-Instruct-2407", False, True),
        ("default", True, False),
        ("Qwen3.5-4B", False, False),  # thoughts
        ("Qwen3-Coder", False, False),  # white space at the beginning is not content
        ("meetkai-functionary-medium-v3.2", False, False),  # all content stands behind a word
        ("openai-gpt-oss-120b", False, False),
    ],
)
def test_an_answer_that_is_all_content_is_not_parsed(name: str, offered: bool, plain: bool) -> None:
    described = rendered(name, offered=offered)["parser"]
    assert reads_all_as_content(described) == plain
    if plain:
        for text in ("", " a\n", "<tool_call>", "</think>", *MARKS):
            assert parser(name, offered=offered).parse(text, partial=False).content == text


def test_an_answer_that_looks_like_a_call_is_text_where_no_tool_is_offered() -> None:
    answer, shown, _ = read("default", [CALL.encode()], offered=False)
    assert (answer, shown.text) == (ReadAnswer(CALL), CALL)


def test_half_a_call_is_none_though_its_arguments_are_whole() -> None:
    for stop in range(len("<tool_call>\n"), len(CALL)):
        answer, _, _ = read("default", [CALL[:stop].encode()])
        assert answer.calls == ()
        assert answer.malformed
        assert answer.text == CALL[:stop]
    assert len(read("default", [CALL.encode()])[0].calls) == 1


def test_a_whole_call_before_half_a_call_is_told_and_so_is_the_error() -> None:
    raw = f"{CALL}\n{CALL[:-20]}"
    answer, _, _ = read("default", [raw.encode()])
    assert len(answer.calls) == 1
    assert (answer.malformed, answer.text) == ("the answer ends inside a call", raw)


def test_the_text_of_a_malformed_answer_leaves_its_thoughts_out() -> None:
    broken = '<tool_call>\n{"name": "nobody"'
    answer, shown, _ = read("Qwen-Qwen3-0.6B", [f"<think>\nHm.\n</think>\n\n{broken}".encode()])
    assert answer.malformed
    assert (answer.text.strip(), answer.reasoning.strip()) == (broken, "Hm.")
    assert (shown.text.strip(), shown.reasoning.strip()) == (broken, "Hm.")
