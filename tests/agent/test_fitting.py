"""Results that do not fit: shortened until they do, kept whole in files, and never one that was read."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from skippy_chat.agent.fitting import LEAST_BYTES, bounded
from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.protocol import Limits
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.errors import ContextFull
from skippy_chat.events import Notice, StepFinished, TurnFinished
from tests.agent.conftest import Talks, play
from tests.agent.loops import Place, follow, results
from tests.fakes.engine import LOADED, Said, call

pytestmark = pytest.mark.timeout(120)

LONG = "".join(f"line {number}\n" for number in range(400))


@tool(read_only=True)
def report() -> str:
    """Report everything."""
    return LONG


class _Model:
    """Calls once, and then answers as soon as its prompt is below ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._calls = iter([Said(calls=(call("c1", "report"),))])

    def __call__(self, request: StepRequest) -> Said:
        if request.messages[-1]["role"] == "user":
            return next(self._calls)
        fits = sum(len(each["content"]) for each in request.messages) < self._room
        return Said("Done.") if fits else Said(raises=ContextFull("Too long.", "Shorten it."))


def test_a_result_is_halved_until_the_prompt_fits_and_is_whole_in_a_file(tmp_path: Path) -> None:
    place = Place(tmp_path)
    talk, engine = place.open(_Model(1500), place.box(tools=[report]))
    events = follow(talk, talk.send("Report."))
    (result,) = results(talk)
    assert LEAST_BYTES < len(result.content.encode()) < 1500
    assert result.content.startswith("line 0\n")
    assert result.content.endswith("line 399\n")
    assert (result.status, result.state) == ("ok", "complete")
    (first,) = (tmp_path / "output").glob("c1.txt")
    assert first.read_text() == LONG
    assert str(tmp_path / "output" / "c1-") in result.content or str(first) in result.content
    assert [each.text for each in events if isinstance(each, Notice)] == [
        "What the tools gave does not fit the context; the model sees the beginning and the end of it."
    ]
    ended = events[-1]
    assert isinstance(ended, TurnFinished)
    assert ended.finish_reason == "stop"
    assert engine.requests[-1].messages[-1]["content"] == result.content
    place.close()


def test_a_context_that_is_full_without_the_results_ends_the_turn(tmp_path: Path) -> None:
    place = Place(tmp_path)
    talk, engine = place.open(_Model(0), place.box(tools=[report]))
    ended = follow(talk, talk.send("Report."))[-1]
    assert isinstance(ended, TurnFinished)
    assert ended.finish_reason == "context_full"
    assert len(engine.requests) < 10
    place.close()


def test_a_result_that_was_read_is_never_changed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    answers = itertools.chain(
        [Said(calls=(call("c1", "report"),)), Said("Half an ans", finish_reason="length")],
        itertools.repeat(Said(raises=ContextFull("Too long.", "Shorten it."))),
    )
    talk, engine = place.open(answers, place.box(tools=[report]))
    follow(talk, talk.send("Report."))
    (before,) = results(talk)
    ended = follow(talk, talk.go_on())[-1]
    assert isinstance(ended, TurnFinished)
    assert ended.finish_reason == "context_full"
    assert results(talk) == [before]
    assert len(engine.requests) == 3
    place.close()


def test_no_result_has_more_bytes_than_the_context_has_tokens() -> None:
    assert bounded(Limits(), 8192).output_bytes == 8192
    assert bounded(Limits(), 131_072) == Limits()
    assert bounded(Limits(), 1).output_bytes == LEAST_BYTES
    assert LOADED.context_size < Limits().output_bytes  # so that the tests above meet the bound


@pytest.mark.native
@pytest.mark.model
def test_a_conversation_outlives_a_result_of_digits(talks: Talks) -> None:
    @tool(read_only=True)
    def digits() -> str:
        """Give many digits."""
        return "0123456789" * 10_000  # a token each, for this model

    talk = talks.open(context=1024, functions=(digits,), max_tokens=40)
    turn = play(talk.send("Give me the digits.", TurnOptions(tool_choice="required")))
    steps = [each for each in turn.events if isinstance(each, StepFinished)]
    assert len(steps) >= 2
    for step in steps:
        assert step.usage.cached_tokens + step.usage.prefilled_tokens == step.usage.prompt_tokens
    assert steps[1].usage.cached_tokens >= steps[0].usage.prompt_tokens  # only the result was read
    again = play(talk.send("And now?"))
    assert isinstance(again.events[-1], TurnFinished)
    assert again.events[-1].finish_reason in ("stop", "length", "context_full")
