"""Titles: what is made of a model's answer, and what one costs on a real worker."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.agent.titles import (
    MOST_COLUMNS,
    MOST_TOKENS,
    QUESTION,
    first_words,
    make_title,
    title_of,
    title_request,
)
from skippy_chat.chat.session_rows import usable_title
from skippy_chat.engine.client import EngineClient
from skippy_chat.engine.protocol import AnsweredCall, LoadRequest, RecordedAnswer, StepReply, StepRequest
from skippy_chat.engine.supervisor import Supervisor
from skippy_chat.errors import CheckpointError, SkippyError
from skippy_chat.events import Event, FinishReason, StepFinished
from skippy_chat.sampling import Sampling
from skippy_chat.text.wrap import cells

SYSTEM = {"role": "system", "content": "You are a friendly assistant who answers at length. " * 8}
HELLO = {"role": "user", "content": "Name the planets, one in each line."}
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}


def said(text: str, finish: FinishReason = "stop", **more: object) -> StepReply:
    return StepReply(text, finish, array("i"), 0, [], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The Planets of the Sun", "The Planets of the Sun"),
        ('  "The Planets of the Sun."\n', "The Planets of the Sun"),
        ("**Title: The Planets**", "The Planets"),
        ("# The  Planets\t today", "The Planets today"),
        ("Title:\nPlanets", "Planets"),
        ("My title: planets", "My title: planets"),
        ("\n\nDie Planeten: Größe, Monde.\nUnd mehr.", "Die Planeten: Größe, Monde"),
        ("「惑星の名前」", "惑星の名前"),
        ("What is a planet?", "What is a planet?"),
        ("\x1b[31mRed\x1b]0;own\x07 planets\x00", "Red planets"),
        ("Pla\u202enets\u200b", "Planets"),
        ("", ""),
        ("...", ""),
        ("Hello, I'm a friendly assistant. I'm here to help.", ""),
        ("你好。我是助手。", ""),
    ],
)
def test_what_is_made_of_an_answer(text: str, title: str) -> None:
    assert title_of(said(text)) == title


def test_an_answer_that_was_cut_is_no_title_but_for_its_whole_first_line() -> None:
    assert title_of(said("The planets are the bodies that", "length")) == ""
    assert title_of(said("Planets\nThe planets are", "length")) == "Planets"
    assert title_of(said("Title:\nPlanets are", "length")) == ""
    assert title_of(said("Planets", "cancelled")) == ""


def test_a_call_is_no_title() -> None:
    assert title_of(said("Planets", "tool_calls", calls=(AnsweredCall("1", "f", "{}"),))) == ""
    assert title_of(said("Planets", malformed="half a call")) == ""


def test_long_titles_are_cut_between_words() -> None:
    words = "one two three four five six seven eight nine ten eleven twelve thirteen"
    assert title_of(said(words)) == "one two three four five six seven eight nine ten eleven…"
    assert first_words("x" * 100) == "x" * (MOST_COLUMNS - 1) + "…"
    assert cells(first_words("惑星" * 50)) <= MOST_COLUMNS


def test_first_words_are_the_first_line_that_has_one() -> None:
    assert first_words("\n---\n  Hello,   who are you?\nI ask.") == "Hello, who are you?"
    assert first_words("```\n") == ""


@given(st.text(max_size=200))
def test_a_title_is_always_one_that_can_be_stored(text: str) -> None:
    for title in (title_of(said(text)), first_words(text)):
        assert cells(title) <= MOST_COLUMNS
        assert usable_title(title) == title
        assert title == "" or any(each.isalnum() for each in title)


class Scripted:
    """Says one thing aside, or fails."""

    def __init__(self, reply: StepReply | SkippyError) -> None:
        self.reply = reply
        self.asked: list[StepRequest] = []

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        self.asked.append(request)
        if isinstance(self.reply, SkippyError):
            raise self.reply
        yield StepFinished()
        yield self.reply


def exchange(*answer: dict[str, str], **more: object) -> StepRequest:
    return StepRequest("s", "t", [SYSTEM, HELLO, *answer], Sampling(temperature=0.9), **more)  # type: ignore[arg-type]


def test_the_models_title_or_the_first_words() -> None:
    asked = exchange({"role": "assistant", "content": "Mercury"})
    assert make_title(Scripted(said("Planets")), asked, turn="title") == "Planets"
    assert make_title(Scripted(said("...")), asked, turn="title") == HELLO["content"]
    assert make_title(Scripted(CheckpointError("refused")), asked, turn="title") == HELLO["content"]


def test_what_is_asked_stands_on_the_same_prefix_and_leaves_nothing_behind() -> None:
    asked = exchange(tools=[TOOL], thinking=True, now=7, answers={2: RecordedAnswer(array("i", [1]), 1)})
    request = title_request(asked, "title")
    assert request.messages == [*asked.messages, {"role": "user", "content": QUESTION}]
    assert (request.tools, request.answers, request.now) == (asked.tools, asked.answers, asked.now)
    assert (request.tool_choice, request.record, request.thinking) == ("none", False, False)
    assert (request.turn, request.sampling.temperature, request.max_tokens) == ("title", 0.0, MOST_TOKENS)


class Heard(Supervisor):
    """A supervisor whose side requests can be looked at."""

    def __init__(self, folder: Path, model: Path, *, cache: bool = True) -> None:
        request = LoadRequest(
            model=str(model),
            checkpoints=str(folder / "tree"),
            digests=str(folder / "digests.json"),
            proofs=str(folder / "proofs"),
            context=1024,
            threads=1,
            flash_attention="auto",
            disk_budget=1 << 30,
            cache=cache,
        )
        super().__init__(lambda: EngineClient(folder / "worker.log"), request)
        self.heard: list[Event | StepReply] = []
        self.open(lambda what, done, total: None)

    def aside(self, request: StepRequest) -> Generator[Event | StepReply, None, None]:
        for item in super().aside(request):
            self.heard.append(item)
            yield item

    def answer(self, request: StepRequest) -> tuple[StepFinished, StepReply]:
        items = list(self.run(request))
        finished = next(each for each in items if isinstance(each, StepFinished))
        assert isinstance(items[-1], StepReply)
        return finished, items[-1]


@pytest.fixture
def engine(tmp_path: Path, default_model: Path) -> Iterator[Heard]:
    started = Heard(tmp_path, default_model)
    yield started
    started.close()


@pytest.mark.native
@pytest.mark.model
@pytest.mark.parametrize("tools", [[], [TOOL]], ids=["plain", "with tools"])
def test_a_title_costs_its_question_and_the_next_turn_only_what_is_new(
    engine: Heard, tools: list[dict[str, object]]
) -> None:
    first, reply = engine.answer(exchange(max_tokens=24, tools=tools))
    known = exchange(
        {"role": "assistant", "content": reply.text}, answers={2: reply.recorded()}, tools=tools, max_tokens=8
    )
    title = make_title(engine, known, turn="title")
    assert title
    assert cells(title) <= MOST_COLUMNS
    (finished,) = [each for each in engine.heard if isinstance(each, StepFinished)]
    assert finished.turn == "title"
    assert finished.usage.cached_tokens == first.usage.context_tokens
    assert finished.usage.prefilled_tokens < 50
    known.messages.append({"role": "user", "content": "Go on."})
    second, _ = engine.answer(known)
    assert second.usage.cached_tokens == first.usage.context_tokens
    assert second.cache.source == "disk"


@pytest.mark.native
@pytest.mark.model
def test_without_a_cache_the_conversation_is_not_left_for_a_title(
    tmp_path: Path, default_model: Path
) -> None:
    engine = Heard(tmp_path, default_model, cache=False)
    try:
        _, reply = engine.answer(exchange(max_tokens=8))
        known = exchange({"role": "assistant", "content": reply.text}, answers={2: reply.recorded()})
        assert make_title(engine, known, turn="title") == HELLO["content"]
        assert engine.heard == []
    finally:
        engine.close()


@pytest.mark.native
@pytest.mark.model
def test_without_a_worker_the_title_is_the_first_words(engine: Heard) -> None:
    engine.close()
    assert make_title(engine, exchange(), turn="title") == HELLO["content"]
