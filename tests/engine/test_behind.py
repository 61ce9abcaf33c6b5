"""Recording behind the answer: tokens flow while the writer stands still, and nothing is lost or written twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skippy_chat.checkpoints import CheckpointStore, verify
from skippy_chat.checkpoints.recording import Recording
from skippy_chat.checkpoints.types import Node, Recorded
from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.engine.recorder import Recorder
from skippy_chat.events import CheckpointFailed, CheckpointRecorded, Event, StepFinished, TextDelta
from tests.engine.engines import GREEDY, Bench, make_engine, numbers, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
MODELS = ["falcon-h1-dense", "mamba-dense", "llama-dense"]


class Gate:
    """Stands in the writer's way until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.reached = threading.Event()
        self.recorded: list[Recorded] = []


@contextmanager
def blocked_writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Before it computes a digest or writes a byte, every commit waits for the gate."""
    gate, commit = Gate(), Recording.commit

    def wait(recording: Recording) -> Recorded:
        gate.reached.set()
        assert gate.opened.wait(60)
        gate.recorded.append(done := commit(recording))
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Recording, "commit", wait)
        try:
            yield gate
        finally:
            gate.opened.set()


def step(bench: Bench, events: list[Event], max_tokens: int = 8) -> StepReply:
    """One step that does not wait for the writer, as the product runs it."""
    request = StepRequest("s", "t", list(bench.messages), GREEDY, dict(bench.answers), max_tokens)
    reply = bench.engine.step(request, events.append)
    bench.keep(reply)
    return reply


def nodes_on_lane(bench: Bench) -> list[Node | None]:
    store = bench.engine.store
    assert isinstance(store, CheckpointStore)
    node, line = None, list[Node | None]()
    for planned in bench.engine.lane.edges:
        node = store.child(node, planned.edge)
        line.append(node)
    return line


@pytest.mark.parametrize("name", MODELS)
def test_turns_go_on_while_the_writer_stands_still(
    name: str, tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(make_engine(tiny_model(name), tmp_path))
    try:
        bench.messages.append({"role": "system", "content": numbers(1, 300)})
        events: list[Event] = []
        replies = []
        with blocked_writer(monkeypatch) as gate:
            for turn in range(4):
                bench.messages.append({"role": "user", "content": numbers(2 + turn, 30)})
                replies.append(step(bench, events))
            finished = [event for event in events if isinstance(event, StepFinished)]
            assert [each.cache.source for each in finished] == ["none", "live", "live", "live"]
            assert all(each.cache.diverged_at is None for each in finished)
            assert any(isinstance(event, TextDelta) for event in events)
            assert gate.reached.is_set()
            assert not any(isinstance(event, CheckpointRecorded) for event in events)
            assert not any(nodes_on_lane(bench))
            gate.opened.set()
            bench.engine.flush()
        assert not [event for event in events if isinstance(event, CheckpointFailed)]
        edges = bench.engine.lane.edges
        # Each edge once, and nothing was missing that the one before had not brought.
        assert sum(done.nodes for done in gate.recorded) == len(edges)
        assert all(nodes_on_lane(bench))
        assert len(gate.recorded) == 8
        back = bench.replay(replies[-1])
        assert back.reply.ids == replies[-1].ids
    finally:
        bench.engine.close()
    assert [report.problems for report in verify(tmp_path)] == [()]


def test_a_prompt_that_leaves_the_lane_finds_what_waited(tiny_model: TinyModel, tmp_path: Path) -> None:
    """It waits for the writer first: what the last step left is on disk by then."""
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    try:
        events: list[Event] = []
        bench.messages = [{"role": "user", "content": numbers(1, 90)}]
        step(bench, events)
        bench.messages = bench.messages[:1]
        bench.answers = {}
        again = bench.step()
        assert again.counts[1:] == (again.counts[0], 0)
        assert same_logits(again, bench.replay(again.reply))
    finally:
        bench.engine.close()


def test_memory_for_copies_is_a_hard_bound(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    limit = 4 << 20
    bench.engine._recorder.close()
    bench.engine._recorder = recorder = Recorder(limit)
    held = []
    reserve = recorder.reserve

    def noted(size: int) -> bool:
        taken = reserve(size)
        held.append(recorder.held)
        return taken

    monkeypatch.setattr(recorder, "reserve", noted)
    try:
        events: list[Event] = []
        with blocked_writer(monkeypatch) as gate:
            for turn in range(6):
                bench.messages.append({"role": "user", "content": numbers(turn, 60)})
                step(bench, events)
            assert sum(isinstance(event, StepFinished) for event in events) == 6
            failed = [event.reason for event in events if isinstance(event, CheckpointFailed)]
            assert any("The disk is behind" in reason for reason in failed)
            assert max(held) <= limit
            gate.opened.set()
            bench.engine.flush()
        assert recorder.held == 0
        # What found no room is recorded with a later step.
        bench.messages.append({"role": "user", "content": numbers(50, 60)})
        step(bench, events)
        bench.engine.flush()
        assert all(nodes_on_lane(bench))
    finally:
        bench.engine.close()
