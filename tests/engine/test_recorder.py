"""The writer behind the answer: order, a bound on memory, and no exception out of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from skippy_chat.checkpoints.recording import Recording
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Edge, Identity
from skippy_chat.engine.recorder import Recorder
from skippy_chat.events import CheckpointFailed, CheckpointRecorded, Event


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore.open(tmp_path, Identity.of(test=1), budget_bytes=1 << 26, now=time.time)


def test_recordings_are_committed_in_order_and_told(store: CheckpointStore) -> None:
    recorder, events = Recorder(), list[Event]()
    parent = None
    for number in range(5):
        recording = store.recording()
        parent = recording.add(parent, Edge.of([number, number]), kv=b"rows")
        recorder.submit(recording, 0, events.append)
    recorder.flush()
    assert [event.position for event in events if isinstance(event, CheckpointRecorded)] == [2, 4, 6, 8, 10]
    recorder.close()
    recorder.close()
    store.close()


def test_memory_is_reserved_until_the_bytes_are_durable(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    commit = Recording.commit

    def slow(self: Recording) -> object:
        assert gate.wait(10)
        return commit(self)

    monkeypatch.setattr(Recording, "commit", slow)
    recorder, events = Recorder(memory_bytes=100), list[Event]()
    assert recorder.reserve(60)
    assert not recorder.reserve(60)
    recording = store.recording()
    pending = recording.add(None, Edge.of([1]), kv=bytes(60))
    recorder.submit(recording, 60, events.append)
    assert not recorder.reserve(60)
    assert recorder.waiting(pending.key) is pending
    gate.set()
    recorder.flush()
    assert isinstance(events[-1], CheckpointRecorded)
    assert recorder.held == 0
    assert recorder.waiting(pending.key) is None
    assert recorder.reserve(100)
    recorder.close()
    store.close()


def test_a_fault_of_the_store_is_an_event(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_self: Recording) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Recording, "commit", broken)
    recorder, events = Recorder(), list[Event]()
    recorder.submit(store.recording(), 0, events.append)
    recorder.flush()
    assert [event.reason for event in events if isinstance(event, CheckpointFailed)] == [
        "RuntimeError: a bug"
    ]
    recorder.close()
    store.close()
