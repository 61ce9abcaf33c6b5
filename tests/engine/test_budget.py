"""Many turns on a small budget, with real weights: bytes stay below it, and follow what is new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints import verify
from skippy_chat.checkpoints.placement import STATES_PER_STEP
from skippy_chat.checkpoints.recording import Recording
from skippy_chat.checkpoints.types import Recorded
from skippy_chat.events import CheckpointFailed, CheckpointRecorded
from tests.engine.engines import Bench, make_engine, numbers

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
MIB = 1 << 20


def disk_usage(root: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in [root, *root.rglob("*")])


@pytest.mark.parametrize("name", ["falcon-h1-dense", "mamba-dense"])
def test_bytes_stay_below_the_budget_and_follow_what_is_new(
    name: str, tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 turns, each about 3 MiB, on 24 MiB."""
    budget = 24 * MIB
    sizes: list[int] = []
    commit = Recording.commit

    def counted(recording: Recording) -> Recorded:
        blobs = [each.blobs for each in recording.added] + [each for _, each in recording.attached.values()]
        size = sum(len(blob) for each in blobs for blob in each.values())
        done = commit(recording)
        sizes.append(size)
        assert disk_usage(tmp_path) <= budget
        return done

    monkeypatch.setattr(Recording, "commit", counted)
    bench = Bench(make_engine(tiny_model(name), tmp_path, budget=budget))
    try:
        for turn in range(40):
            if turn % 10 == 0:
                bench.messages = [{"role": "system", "content": numbers(1000 + turn, 40)}]
                bench.answers = {}
            sizes.clear()
            result = bench.say(numbers(turn, 40 + turn), max_tokens=4)
            done = [event for event in result.events if isinstance(event, CheckpointRecorded)]
            assert not [event for event in result.events if isinstance(event, CheckpointFailed)]
            assert sum(event.bytes for event in done) <= 1.05 * sum(sizes)
            assert 2 <= sum(event.states for event in done) <= STATES_PER_STEP
            assert disk_usage(tmp_path) <= budget
        store = bench.engine.store
        assert store is not None
        assert store.stats().last_eviction is not None
        assert store.has_evicted()
        again = bench.messages.pop()
        bench.answers.pop(len(bench.messages))
        assert again["role"] == "assistant"
        exact = bench.step()
        assert exact.counts[1:] == (exact.counts[0], 0)
    finally:
        bench.engine.close()
    assert [report.problems for report in verify(tmp_path)] == [()]


def test_nothing_is_copied_for_a_conversation_that_the_budget_cannot_hold(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fitted before is kept, the turn goes on, and an event says why no more is."""
    bench = Bench(make_engine(tiny_model("llama-dense"), tmp_path, budget=MIB))
    try:
        bench.messages = [{"role": "system", "content": numbers(1, 60)}]
        bench.say(numbers(2, 30))
        lane, copied = bench.engine.lane, list[tuple[int, int]]()
        rows = lane.attention_rows

        def noted(p0: int, p1: int) -> bytearray | None:
            copied.append((p0, p1))
            return rows(p0, p1)

        monkeypatch.setattr(lane, "attention_rows", noted)
        tokens = MIB // lane.attention_row_bytes() + 10
        result = bench.say(numbers(3, tokens), max_tokens=3)
        failed = {event.reason for event in result.events if isinstance(event, CheckpointFailed)}
        assert (
            [reason for reason in failed if "cannot hold this conversation" in reason] == list(failed) != []
        )
        assert copied == []
        assert len(result.reply.ids) > result.counts[0]
        assert disk_usage(tmp_path) <= MIB
        bench.messages = bench.messages[:2]
        bench.answers = {}
        back = bench.step()
        assert back.counts[1:] == (back.counts[0], 0)
    finally:
        bench.engine.close()
