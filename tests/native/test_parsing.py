"""Answers are read to the same end however they arrive, and nothing that was given out is taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.errors import NativeError
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.model import Model
from skippy_chat.native.parsing import AnswerDelta, AnswerParser, AnswerStream, ParsedAnswer
from tests.native.answering import parser_of, request, tools

CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "6 * 7"}}\n</tool_call>'
SECOND = '<tool_call>\n{"name": "read_file", "arguments": {"path": "ä/😀.txt"}}\n</tool_call>'
TEXTS = [
    "Plain text.",
    "Look: {a} [b] <c> <tool",
    "Ünïcode 😀 and\nlines\n",
    f"First I compute.\n{CALL}",
    CALL,
    f"{CALL}\n{SECOND}",
    '<tool_call>\n{"name": "calculator", "arguments": {"expre',
    '<tool_call>\n{"name": "surf", "arguments": {}}\n</tool_call>',
    "<tool_call>\nnot JSON at all",
    "",
]


@dataclass
class Clock:
    """A clock that goes on by ``step`` seconds whenever it is asked."""

    step: float
    now: float = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class CountingParser(AnswerParser):
    """A parser that counts how many characters it has read."""

    read = 0
    times = 0

    def parse(self, text: str, *, partial: bool) -> ParsedAnswer:
        self.read += len(text)
        self.times += 1
        return super().parse(text, partial=partial)


@dataclass
class Shown:
    """What a face would show: deltas put together."""

    content: str = ""
    reasoning: str = ""
    calls: list[list[str]] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.calls = []

    def add(self, delta: AnswerDelta) -> None:
        self.content += delta.content
        self.reasoning += delta.reasoning
        for each in delta.calls:
            if each.index == len(self.calls):
                assert each.name
                self.calls.append([each.name, each.arguments])
            else:
                assert not each.name
                self.calls[each.index][1] += each.arguments


@pytest.fixture(scope="module")
def parser(vocabulary: Model, template: ChatTemplate) -> AnswerParser:
    return AnswerParser(vocabulary.library, template.render(request(tools=tools()))["parser"])


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_deltas_put_together_are_the_answer(parser: AnswerParser, text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    step = data.draw(st.sampled_from([0.0, 0.01, 1.0]))
    stream = AnswerStream(parser, Clock(step))
    shown = Shown()
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        shown.add(stream.feed(text[start:stop]))
    delta, answer = stream.finish()
    shown.add(delta)
    assert stream.text == text
    assert answer == parser.parse(text, partial=False)
    assert (shown.content, shown.reasoning) == (answer.content, answer.reasoning)
    assert [tuple(each) for each in shown.calls] == [(each.name, each.arguments) for each in answer.calls]


@pytest.mark.parametrize("text", TEXTS)
def test_no_beginning_shows_markup_or_what_the_whole_does_not_have(parser: AnswerParser, text: str) -> None:
    whole = parser.parse(text, partial=False)
    before = ParsedAnswer()
    for stop in range(len(text) + 1):
        part = parser.parse(text[:stop], partial=True)
        assert whole.content.startswith(part.content)
        assert part.content.startswith(before.content)
        assert len(part.calls) >= len(before.calls)
        assert "tool_call" not in part.content
        before = part


@pytest.mark.parametrize("text", TEXTS[:3])
def test_text_stays_text(parser: AnswerParser, text: str) -> None:
    assert parser.parse(text, partial=False) == ParsedAnswer(content=text, complete=True)


def test_malformed_answers_say_what_is_wrong_and_keep_what_could_be_read(parser: AnswerParser) -> None:
    cut = parser.parse(TEXTS[6], partial=False)
    assert (cut.complete, cut.error) == (False, "the answer ends inside a call")
    unknown = parser.parse(f"Wait.\n{TEXTS[7]}", partial=False)
    assert not unknown.complete
    assert unknown.error is not None
    assert (unknown.content.strip(), unknown.calls) == ("Wait.", ())
    assert unknown.unparsed in TEXTS[7]
    behind = parser.parse(f"{CALL}\nAnd so on.", partial=False)
    assert not behind.complete
    assert [json.loads(each.arguments) for each in behind.calls] == [{"expression": "6 * 7"}]
    assert behind.unparsed.endswith("And so on.")


@pytest.mark.parametrize("bracket", ["[", "{", '{"a":', "[{"])
def test_endless_brackets_do_not_end_the_process(parser: AnswerParser, bracket: str) -> None:
    text = '<tool_call>\n{"name": "calculator", "arguments": {"expression": ' + bracket * 50_000
    answer = parser.parse(text, partial=False)
    assert not answer.complete
    assert answer.error is not None
    plain = "So: " + bracket * 50_000
    assert parser.parse(plain, partial=False) == ParsedAnswer(content=plain, complete=True)


def test_odd_characters_come_through(parser: AnswerParser) -> None:
    for text in (
        "a\0b",
        "\x01",
        "\udc80".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        "a\r\n\tb",
    ):
        assert parser.parse(text, partial=False).content == text


def test_long_answer_is_read_in_a_time_that_grows_with_its_length(
    vocabulary: Model, template: ChatTemplate
) -> None:
    parser = CountingParser(vocabulary.library, template.render(request(tools=tools()))["parser"])
    clock = Clock(0.0)

    class Reading(CountingParser):
        """Reading takes a microsecond for each character."""

        def parse(self, text: str, *, partial: bool) -> ParsedAnswer:
            clock.now += len(text) * 1e-6
            return super().parse(text, partial=partial)

    reading = Reading(vocabulary.library, template.render(request(tools=tools()))["parser"])
    stream = AnswerStream(reading, clock)
    tokens = 4000
    for _ in range(tokens):
        clock.now += 0.01
        stream.feed("word ")
    busy = reading.read * 1e-6
    assert busy <= 0.06 * clock.now
    assert reading.times >= 100
    assert stream.finish()[1].content == "word " * tokens
    parser.close()
    reading.close()


def test_continued_answer_gives_out_what_is_new_only(vocabulary: Model, template: ChatTemplate) -> None:
    begun = request(tools=tools("calculator"), continue_final_message=True)
    begun["messages"].append({"role": "assistant", "content": "It is"})
    with parser_of(vocabulary, template.render(begun)) as parser:
        stream = AnswerStream(parser, Clock(1.0), continued=True)
        first = stream.feed(" 42")
        last, answer = stream.finish()
    assert first.content + last.content == " 42"
    assert answer.content == "It is 42"


@pytest.mark.parametrize("wrong", [{}, {"format": "loud", "generation_prompt": "", "arena": ""}])
def test_what_is_no_parser_is_refused(vocabulary: Model, wrong: dict[str, str]) -> None:
    with pytest.raises(NativeError, match="cannot be loaded"):
        AnswerParser(vocabulary.library, wrong)


def test_parser_is_closed_twice(vocabulary: Model, template: ChatTemplate) -> None:
    parser = AnswerParser(vocabulary.library, template.render(request())["parser"])
    parser.close()
    parser.close()
