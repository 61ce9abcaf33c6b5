"""Where a step ends early: no room, a wish to stop, a store that cannot be written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.engine.protocol import StepRequest
from skippy_chat.errors import ContextFull, RecordingStopped
from skippy_chat.events import CheckpointFailed, CheckpointRecorded, Event, PrefillProgress, TextDelta
from tests.engine.engines import GREEDY, Bench, make_engine, numbers, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
MODEL = "falcon-h1-dense"


def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(
    tiny_model: TinyModel, tmp_path: Path
) -> None:
    bench = Bench(make_engine(tiny_model(MODEL), tmp_path, n_ctx=512))
    try:
        bench.messages.append({"role": "user", "content": numbers(1, 600)})
        with pytest.raises(ContextFull, match=r"605 tokens.*512: 94 too many"):
            bench.step()
        bench.messages[0] = {"role": "user", "content": numbers(1, 500)}
        result = bench.step(max_tokens=100)
        assert result.reply.finish_reason == "context_full"
        assert result.finished.usage.context_tokens == 512
        assert same_logits(result, bench.replay(result.reply))
    finally:
        bench.engine.close()


def stop_at(bench: Bench, when: Callable[[Event], bool]) -> tuple[list[Event], str]:
    """Run a step and ask it to stop at the first event of a kind; return its events and finish reason."""
    events: list[Event] = []

    def emit(event: Event) -> None:
        events.append(event)
        if when(event):
            bench.engine.cancel()

    request = StepRequest("s", "t", list(bench.messages), GREEDY, max_tokens=200)
    reply = bench.engine.step(request, emit)
    bench.engine.flush()
    return events, reply.finish_reason


def test_a_stop_inside_a_prefill_keeps_what_was_read(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model(MODEL), tmp_path))
    try:
        bench.messages = [
            {"role": "system", "content": numbers(1, 300)},
            {"role": "user", "content": numbers(2, 900)},
        ]
        _, reason = stop_at(bench, lambda event: isinstance(event, PrefillProgress) and event.done > 303)
        assert reason == "cancelled"
        assert bench.engine.store is not None
        bench.engine.lane.clear()
        again = bench.step()
        assert again.counts[1] == 303 + 256
        assert again.finished.cache.source == "disk"
        assert same_logits(again, bench.step(cache=False))
    finally:
        bench.engine.close()


def test_a_stop_between_tokens_keeps_the_lane(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model(MODEL), tmp_path))
    try:
        bench.messages = [{"role": "user", "content": numbers(1, 50)}]
        _, reason = stop_at(bench, lambda event: isinstance(event, TextDelta))
        assert reason == "cancelled"
        assert bench.engine.lane.position >= 55
    finally:
        bench.engine.close()


def test_an_abort_in_native_code_leaves_an_empty_lane_and_right_sums(
    tiny_model: TinyModel, tmp_path: Path
) -> None:
    bench = Bench(make_engine(tiny_model(MODEL), tmp_path))
    try:
        bench.messages = [{"role": "user", "content": numbers(1, 900)}]
        whole = bench.step(cache=False)
        started = threading.Event()

        def abort() -> None:
            started.wait(10)
            bench.engine.context.set_cancel(True)

        thread = threading.Thread(target=abort)
        thread.start()

        events: list[Event] = []

        def emit(event: Event) -> None:
            events.append(event)
            if isinstance(event, PrefillProgress):
                started.set()
                thread.join(10)

        reply = bench.engine.step(StepRequest("s", "t", bench.messages, GREEDY), emit)
        bench.engine.flush()
        assert not any(isinstance(event, CheckpointFailed) for event in events)
        assert reply.finish_reason == "cancelled"
        assert bench.engine.lane.position == 0
        assert same_logits(bench.step(cache=False), whole)
    finally:
        bench.engine.close()


def test_a_store_that_cannot_be_written_costs_no_turn(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(make_engine(tiny_model(MODEL), tmp_path))
    try:
        bench.messages = [{"role": "user", "content": numbers(1, 50)}]
        assert bench.engine.store is not None

        def full(_recording: object) -> None:
            raise RecordingStopped("The disk is full.", "Make room.")

        monkeypatch.setattr(bench.engine.store, "_commit", full)
        result = bench.step()
        assert result.reply.finish_reason == "length"
        assert not any(isinstance(event, CheckpointRecorded) for event in result.events)
        assert {event.reason for event in result.events if isinstance(event, CheckpointFailed)} == {
            "The disk is full. Make room."
        }
    finally:
        bench.engine.close()


@pytest.mark.parametrize("name", ["llama-dense", MODEL])
def test_a_long_prompt_is_handed_over_in_parts(
    name: str, tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of dense models too, which take no state: what waits in memory must not grow with the prompt."""
    monkeypatch.setattr("skippy_chat.engine.recording.PART_BYTES", 1)
    bench = Bench(make_engine(tiny_model(name), tmp_path))
    try:
        bench.messages = [{"role": "user", "content": numbers(1, 900)}]
        result = bench.step(max_tokens=1)
        parts = [event.position for event in result.events if isinstance(event, CheckpointRecorded)]
        assert parts == [256, 512, 768, 903, 905]
        assert bench.step(max_tokens=1).counts == (905, 905, 0)
    finally:
        bench.engine.close()
