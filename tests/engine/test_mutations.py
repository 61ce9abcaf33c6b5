"""What may happen to stored checkpoints, done to them on purpose: each is caught by name, and no turn is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints.types import Kind
from skippy_chat.errors import NativeError
from skippy_chat.events import CheckpointFailed
from tests.engine.engines import Bench, make_engine, numbers, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]
MODEL = "falcon-h1-dense"
ROW = 4 * 128 * 512
"""Bytes of one layer's recurrent row in that model: f32, state size, inner size."""


class Stored:
    """The files of a store, opened for tampering while no engine holds it."""

    def __init__(self, root: Path) -> None:
        (self.index,) = root.rglob("*.db")
        self.home = self.index.parent

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(self.index)
        try:
            found = connection.execute(query, values).fetchall()
            connection.commit()
            return found
        finally:
            connection.close()

    def blob(self, position: int, kind: Kind) -> tuple[Path, int, int]:
        """Path, offset and size of the blob at a position."""
        ((name, offset, size),) = self.rows(
            "SELECT segments.name, offset, blobs.bytes FROM blobs JOIN nodes ON nodes.id = blobs.node"
            " JOIN segments ON segments.id = blobs.segment WHERE position = ? AND kind = ?",
            position,
            kind,
        )
        (path,) = self.home.rglob(f"{name}.seg")
        assert isinstance(offset, int)
        assert isinstance(size, int)
        return path, offset, size


def overwrite(path: Path, offset: int, data: bytes) -> None:
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def zero_a_recurrent_row(stored: Stored, end: int) -> None:
    path, offset, size = stored.blob(end, Kind.STATE)
    overwrite(path, offset + size - ROW, bytes(ROW))


def swap_two_nodes(stored: Stored, end: int) -> None:
    first, second = stored.rows(
        "SELECT segment, offset, blobs.bytes, node, kind FROM blobs JOIN nodes ON nodes.id = blobs.node"
        " WHERE kind = ? ORDER BY position DESC LIMIT 2",
        Kind.STATE,
    )
    for mine, theirs in ((first, second), (second, first)):
        stored.rows(
            "UPDATE blobs SET segment = ?, offset = ?, bytes = ? WHERE node = ? AND kind = ?",
            *mine[:3],
            *theirs[3:],
        )


def shift_a_position(stored: Stored, end: int) -> None:
    stored.rows("UPDATE nodes SET position = position + 1 WHERE position = ?", end)


def leave_out_a_segment(stored: Stored, end: int) -> None:
    stored.blob(end, Kind.KV)[0].unlink()


def cut_a_segment(stored: Stored, end: int) -> None:
    path, _, _ = stored.blob(end, Kind.KV)
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


@pytest.mark.parametrize(
    ("tamper", "name"),
    [
        (zero_a_recurrent_row, "digest"),
        (swap_two_nodes, "another node|wrong|not"),
        (shift_a_position, "wrong position"),
        (leave_out_a_segment, "missing file"),
        (cut_a_segment, "short file"),
    ],
)
def test_a_spoiled_checkpoint_is_named_and_passed_over(
    tamper: Callable[[Stored, int], None], name: str, tiny_model: TinyModel, tmp_path: Path
) -> None:
    first = Bench(make_engine(tiny_model(MODEL), tmp_path))
    first.messages.append({"role": "system", "content": numbers(1, 60)})
    first.say(numbers(2, 30))
    told = first.say(numbers(3, 30))
    first.engine.close()
    end = told.counts[0]
    tamper(Stored(tmp_path), end)

    second = Bench(make_engine(tiny_model(MODEL), tmp_path), first.messages[:-1], first.answers)
    try:
        result = second.step()
        failed = {event.reason for event in result.events if isinstance(event, CheckpointFailed)}
        assert failed
        assert all(any(part in reason for part in name.split("|")) for reason in failed), failed
        assert result.finished.cache.miss_reason is not None
        assert result.finished.cache.miss_reason.kind == "damaged"
        prompt, cached, prefilled = result.counts
        assert cached + prefilled == prompt
        assert cached < prompt
        assert same_logits(result, second.replay(result.reply))
        healed = second.step()
        assert healed.counts[1] == prompt
    finally:
        second.engine.close()


def test_a_spoiled_state_would_have_moved_the_logits(tiny_model: TinyModel, tmp_path: Path) -> None:
    """The tests above could not fail if a wrong state did not show."""
    bench = Bench(make_engine(tiny_model(MODEL), tmp_path))
    try:
        bench.messages.append({"role": "user", "content": numbers(1, 60)})
        bench.step(max_tokens=1)
        lane, context = bench.engine.lane, bench.engine.context
        state = lane.partial_state()
        rows = lane.attention_rows(0, lane.position)
        assert state is not None
        assert rows is not None
        after = []
        for blob in (bytes(state), bytes(state[:-ROW]) + bytes(ROW)):
            context.clear()
            context.append_range(memoryview(rows), 0, lane.position)
            context.import_state(blob)
            context.decode([11], lane.position, logits=True)
            after.append(context.logits().copy())
        assert abs(after[0] - after[1]).max() > 1e-4
    finally:
        bench.engine.close()


@pytest.mark.parametrize(
    ("segments", "why"),
    [([0, 2], "gap"), ([0, 1, 1], "twice"), ([1], "start")],
)
def test_segments_left_out_or_twice_are_refused(
    segments: list[int], why: str, tiny_model: TinyModel, tmp_path: Path
) -> None:
    del why
    bench = Bench(make_engine(tiny_model(MODEL), None))
    try:
        bench.messages.append({"role": "user", "content": numbers(1, 90)})
        bench.step(max_tokens=1, cache=False)
        context = bench.engine.context
        ranges = [(0, 30), (30, 60), (60, 90)]
        blobs = [context.export_range(*each) for each in ranges]
        context.clear()
        for index in segments[:-1]:
            context.append_range(memoryview(blobs[index]), *ranges[index])
        before = context.parts()
        with pytest.raises(NativeError, match="refused"):
            context.append_range(memoryview(blobs[segments[-1]]), *ranges[segments[-1]])
        assert context.parts() == before
    finally:
        bench.engine.close()
