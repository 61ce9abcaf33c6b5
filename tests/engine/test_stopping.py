"""A stop that comes before a prompt is read reads nothing of it, and leaves a lane that goes on to the bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.events import Event, PrefillProgress, PrefillStarted, StepFinished
from tests.engine.engines import GREEDY, Bench, make_engine, numbers, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]


def stopped(bench: Bench, at: type[Event]) -> tuple[StepReply, list[Event]]:
    """Run the conversation's step, and stop it when the first event of a kind is told."""
    events: list[Event] = []

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, at):
            bench.engine.cancel()

    request = StepRequest("s", "t", list(bench.messages), GREEDY, dict(bench.answers), 6)
    return bench.engine.step(request, emit), events


@pytest.mark.parametrize("name", ["falcon-h1-dense", "llama-dense", "mamba-dense"])
@pytest.mark.parametrize("resumes", [False, True], ids=["from nothing", "behind a turn"])
def test_a_stop_before_the_first_batch(
    name: str, resumes: bool, tiny_model: TinyModel, tmp_path: Path
) -> None:
    bench = Bench(make_engine(tiny_model(name), tmp_path))
    try:
        if resumes:
            bench.say(numbers(1, 60))
        held = bench.engine.lane.position
        bench.messages.append({"role": "user", "content": numbers(2, 90)})
        reply, events = stopped(bench, PrefillStarted)
        (finished,) = [each for each in events if isinstance(each, StepFinished)]
        assert (reply.finish_reason, len(reply.ids)) == ("cancelled", 0)
        assert finished.usage.prefilled_tokens == 0
        assert finished.usage.cached_tokens == finished.usage.context_tokens == held
        assert not any(isinstance(each, PrefillProgress) for each in events)
        again = bench.step()
        assert again.counts[1] == held
        assert same_logits(again, bench.replay(again.reply))
    finally:
        bench.engine.close()


def test_a_stop_in_the_middle_keeps_what_was_read(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    try:
        bench.messages.append({"role": "system", "content": numbers(1, 60)})
        bench.messages.append({"role": "user", "content": numbers(2, 90)})
        reply, events = stopped(bench, PrefillProgress)
        (finished,) = [each for each in events if isinstance(each, StepFinished)]
        assert reply.finish_reason == "cancelled"
        assert 0 < finished.usage.prefilled_tokens < finished.usage.prompt_tokens
        again = bench.step()
        assert again.counts[1] == finished.usage.context_tokens > 0
        assert same_logits(again, bench.replay(again.reply))
    finally:
        bench.engine.close()
