"""Reading every byte: what is found, what becomes of it, and that nobody who records is in the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints import CheckpointStore, Mending, Node, VerifyReport, verify
from skippy_chat.checkpoints.quarantine import held
from skippy_chat.errors import DamagedCheckpoint
from tests.checkpoints.trees import (
    IDENTITY,
    MIB,
    OTHER,
    blob_at,
    chain,
    clock,
    disk_usage,
    edge,
    flip,
    home,
    opened,
    segment_files,
    sql,
    strays,
    walk,
)

pytestmark = pytest.mark.usefixtures("unsynced")

EDGES = [edge(0), edge(100), edge(200)]
BUDGET = 64 * MIB
ASIDE = Mending(BUDGET, clock)
DELETE = Mending(BUDGET, clock, delete=True)


def mend(root: Path, how: Mending = ASIDE) -> VerifyReport:
    """Verify one store and mend it; a second time finds nothing."""
    (report,) = verify(root, mending=how)
    assert report.problems != ()
    assert verify(root)[0].problems == ()
    assert strays(root) == []
    return report


def sound(store: CheckpointStore, nodes: list[Node]) -> None:
    """Everything these nodes have can be mapped."""
    for node in nodes:
        store.map(node, logits=True).close()


@pytest.mark.parametrize("how", [ASIDE, DELETE], ids=["aside", "delete"])
def test_a_damaged_state_goes_and_all_else_stays(tmp_path: Path, how: Mending) -> None:
    with opened(tmp_path) as store:
        path, offset, size = blob_at(tmp_path, chain(store, EDGES)[1], 1)
        flip(path, offset + size - 1)
        report = mend(tmp_path, how)
        assert "wrong digest of the STATE bytes" in report.problems[0]
        assert report.mended == 1
        nodes = walk(store, EDGES)
        assert [node.has_state for node in nodes] == [True, False, True]
        sound(store, nodes)
        assert [each.name for each in held(tmp_path)] == ([] if how.delete else [path.name])
        assert path not in segment_files(tmp_path)  # what was healthy in it is in a new file
        assert store.stats().last_quarantine == "wrong digest of the STATE bytes"
        assert len(chain(store, EDGES)) == 3
        sound(store, walk(store, EDGES))


def test_damaged_rows_take_along_what_hangs_on_them(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        path, offset, _ = blob_at(tmp_path, chain(store, EDGES)[1], 0)
        below = store.recording()
        below.add(walk(store, EDGES)[2], edge(300), kv=b"healthy, but of no use", state=b"s")
        below.commit()
        flip(path, offset)
        mend(tmp_path)
        assert len(walk(store, EDGES)) == 1
        assert [each.name for each in held(tmp_path)] == [path.name]
        sound(store, walk(store, EDGES))


SPOILS: list[tuple[str, Callable[[Path], object], str]] = [
    ("header", lambda path: flip(path, 0), "damaged header"),
    ("table", lambda path: flip(path, 200), "wrong digest of the header and table"),
    ("short", lambda path: path.write_bytes(path.read_bytes()[:-1]), "short file"),
    ("long", lambda path: path.write_bytes(path.read_bytes() + b"x"), "short file"),
    ("empty", lambda path: path.write_bytes(b""), "short file"),
    ("missing", lambda path: path.unlink(), "missing file"),
]


@pytest.mark.parametrize(("spoil", "match"), [each[1:] for each in SPOILS], ids=[each[0] for each in SPOILS])
def test_a_damaged_file_goes_whole(tmp_path: Path, spoil: Callable[[Path], object], match: str) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
        path = segment_files(tmp_path)[0]
        healthy = chain(store, [edge(900)])
        spoil(path)
        assert match in mend(tmp_path).problems[0]
        assert walk(store, EDGES) == []
        sound(store, healthy)
        assert [each.name for each in held(tmp_path)] == ([] if match == "missing file" else [path.name])


def test_bytes_between_blobs_are_looked_at_too(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        path, offset, size = blob_at(tmp_path, chain(store, EDGES, kv=4001)[0], 0)
        flip(path, offset + size)
        assert "stray bytes between blobs" in mend(tmp_path).problems[0]
        nodes = walk(store, EDGES)
        assert [node.has_state for node in nodes] == [True] * 3
        sound(store, nodes)


def test_damage_that_nobody_can_reach_any_more_is_found(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, EDGES)[1]
        path, offset, _ = blob_at(tmp_path, node, 1)
        with sql(tmp_path) as db:
            db.execute("DELETE FROM blobs WHERE node = ? AND kind = 1", (node.id,))
        flip(path, offset)
        assert "in space no longer used" in mend(tmp_path).problems[0]
        sound(store, walk(store, EDGES))


EDITS = [
    ("UPDATE nodes SET position = position + 1 WHERE id = {1}", "wrong position", 1),
    ("UPDATE nodes SET parent = 99 WHERE id = {1}", "wrong parent", 1),
    ("UPDATE nodes SET ids = zeroblob(length(ids)) WHERE id = {2}", "its key does not follow", 2),
    ("DELETE FROM blobs WHERE node = {1} AND kind = 0", "missing rows", 1),
    ("UPDATE nodes SET children = 7 WHERE id = {1}", "wrong counts", 3),
    ("UPDATE nodes SET captures = 0 WHERE id = {1}", "wrong counts", 3),
    ("UPDATE segments SET live = 0", "wrong sums", 3),
    ("UPDATE segments SET payload = 1", "wrong sums", 3),
    ("UPDATE sums SET allocated = 5", "wrong sum of the files' sizes", 3),
    ("UPDATE blobs SET offset = offset + 64 WHERE node = {1} AND kind = 1", "wrong offset", 3),
]


@pytest.mark.parametrize(("edit", "match", "left"), EDITS)
def test_an_index_that_contradicts_itself_or_the_files(
    tmp_path: Path, edit: str, match: str, left: int
) -> None:
    with opened(tmp_path) as store:
        ids = [node.id for node in chain(store, EDGES)]
        with sql(tmp_path) as db:
            db.execute(edit.format(*ids))
        report = mend(tmp_path)
        assert match in "\n".join(report.problems)
        nodes = walk(store, EDGES)
        assert len(nodes) == left
        sound(store, nodes)
        assert len(chain(store, EDGES)) == 3
        sound(store, walk(store, EDGES))


def test_an_index_that_cannot_be_read_is_begun_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for n in range(200):
            chain(store, [edge(n * 1000, 200)], kv=10, state=10)
    path = home(tmp_path) / "index.db"
    data = bytearray(path.read_bytes())
    page = data.index(edge(100_000, 200).ids) // 4096 * 4096
    data[page : page + 64] = b"\xff" * 64
    path.write_bytes(data)
    (report,) = verify(tmp_path, mending=ASIDE)
    assert "index cannot be read" in report.problems[0]
    assert "set aside when the model is next used" in report.problems[0]
    with opened(tmp_path) as store:
        assert store.notice is not None
        assert "index.damaged.db" in store.notice
        assert len(chain(store, EDGES)) == 3
    assert verify(tmp_path)[0].problems == ()


def test_only_the_identity_asked_for_is_read(tmp_path: Path) -> None:
    for identity in (IDENTITY, OTHER):
        with opened(tmp_path, identity=identity) as store:
            chain(store, EDGES)
    (report,) = verify(tmp_path, identity=OTHER.digest[:8])
    assert (report.identity, report.nodes, report.segments) == (OTHER.digest, 3, 1)
    assert verify(tmp_path, identity="zz") == []


def test_it_tells_how_far_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
        chain(store, [edge(900)])
    told: list[tuple[int, int]] = []
    (report,) = verify(tmp_path, on_bytes=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == report.bytes_read == sum(path.stat().st_size for path in segment_files(tmp_path))
    assert all(done <= total for done, total in told)


def test_where_space_is_short_the_damage_still_goes(tmp_path: Path) -> None:
    """There is no room to copy what is healthy: it stays where it is, and only what is damaged is dropped."""
    with opened(tmp_path) as store:
        path, offset, _ = blob_at(tmp_path, chain(store, EDGES, kv=100_000)[1], 1)
        flip(path, offset)
        verify(tmp_path, mending=Mending(1, clock))
        for node in walk(store, EDGES):
            store.map(node).close()
        assert held(tmp_path) == []


def test_recording_goes_on_while_every_byte_is_read(tmp_path: Path) -> None:
    """Between any two files a recording gets its turn: the lock is held for what is mended only."""
    with opened(tmp_path) as store:
        for n in range(6):
            chain(store, [edge(n * 1000)])
        recorded: list[int] = []

        def record(done: int, total: int) -> None:
            if len(recorded) < 3:  # what is recorded meanwhile is read as well
                recorded.append(len(chain(store, [edge(100_000 + done)])))

        (report,) = verify(tmp_path, mending=ASIDE, on_bytes=record)
        assert recorded == [1, 1, 1]
        assert report.problems == ()
        assert report.segments == 9


def test_what_is_evicted_while_it_is_read_is_not_damage(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for n in range(6):
            chain(store, [edge(n * 1000)])
        (report,) = verify(tmp_path, mending=ASIDE, on_bytes=lambda *_: store.clear())
        assert report.problems == ()
        assert report.mended == 0


def test_what_another_writes_just_now_is_left_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as store, opened(tmp_path) as other:
        path, offset, _ = blob_at(tmp_path, chain(store, EDGES)[1], 1)
        flip(path, offset)
        monkeypatch.setattr("skippy_chat.checkpoints.writer.WAIT_SECONDS", 0.1)
        monkeypatch.setattr("skippy_chat.checkpoints.writer.WriterLock.hold.__wrapped__.__defaults__", (0.1,))
        with other._lock.hold():
            (report,) = verify(tmp_path, mending=ASIDE)
    assert "left as it is: another process is writing" in report.problems[0]
    assert report.mended == 0


def test_the_quarantine_is_bounded_and_counts(tmp_path: Path) -> None:
    budget = 16 * MIB
    with opened(tmp_path, budget=budget) as store:
        for n in range(8):
            path, offset, _ = blob_at(tmp_path, chain(store, [edge(n * 1000)], kv=300_000)[0], 0)
            flip(path, offset)
            verify(tmp_path, mending=Mending(budget, clock))
        names = [each.name for each in held(tmp_path)]
        assert 1 <= len(names) <= 3  # a sixteenth of the budget
        assert names[-1] == path.name  # the newest stays
        assert sum(each.stat().st_blocks * 512 for each in held(tmp_path)) <= budget // 16
        stats = store.stats()
        assert stats.quarantined == 8
        assert stats.quarantine_bytes >= 300_000 * len(names)
        assert stats.allocated_bytes >= stats.quarantine_bytes
        store.clear()
        assert held(tmp_path) == []
        assert store.stats().quarantine_bytes == 0


def test_damage_met_by_a_restore_is_not_offered_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        path, offset, _ = blob_at(tmp_path, chain(store, [edge(0)])[0], 0)
        flip(path, offset)
        with pytest.raises(DamagedCheckpoint, match="wrong digest of the KV"):
            store.map(walk(store, [edge(0)])[0])
    with opened(tmp_path) as store:
        assert walk(store, [edge(0)]) == []
        assert store.stats().quarantined == 1
        assert store.stats().last_quarantine == "wrong digest of the KV bytes in " + path.name[:12] + "…"
    assert [each.name for each in held(tmp_path)] == [path.name]


def test_damage_noted_while_another_writes_is_dropped_at_the_end(tmp_path: Path) -> None:
    """Closing waits for the other's commit, so that the next start does not meet the same damage again."""
    with opened(tmp_path) as other:
        with opened(tmp_path) as store:
            path, offset, _ = blob_at(tmp_path, chain(store, EDGES)[0], 0)
            flip(path, offset)
            held_it, done = threading.Event(), threading.Event()

            def hold() -> None:
                with other._lock.hold():
                    held_it.set()
                    done.wait(10)

            writer = threading.Thread(target=hold)
            writer.start()
            held_it.wait(10)
            with pytest.raises(DamagedCheckpoint):
                store.map(walk(store, EDGES)[0])
            closing = threading.Thread(target=store.close)
            closing.start()
            done.set()
            closing.join(10)
            writer.join(10)
        assert walk(other, EDGES) == []


def test_what_is_kept_aside_is_never_swept_or_read(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        path, offset, _ = blob_at(tmp_path, chain(store, [edge(0)])[0], 0)
        flip(path, offset)
        verify(tmp_path, mending=ASIDE)
        (kept,) = held(tmp_path)
        before = kept.read_bytes()
        assert len(chain(store, [edge(0)])) == 1
        sound(store, walk(store, [edge(0)]))
        (home(tmp_path) / "unswept").touch()
    with opened(tmp_path):
        assert kept.read_bytes() == before
    assert disk_usage(tmp_path) < BUDGET
