"""Killed, out of space or not allowed to write: at any point the store opens again and is whole.

A forked child does the work with every system call that changes the disk, and every few steps of SQLite, counted;
at the n-th it kills itself. What a process wrote survives its death, so these tests wait for no disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skippy_chat.checkpoints import CheckpointStore, Mending, clear_all, verify
from skippy_chat.checkpoints.prune import Wish, prune
from skippy_chat.checkpoints.quarantine import held
from skippy_chat.checkpoints.shelf import FORMAT
from skippy_chat.errors import CheckpointError, RecordingStopped
from tests.checkpoints.trees import (
    IDENTITY,
    MIB,
    blob_at,
    chain,
    clock,
    disk_usage,
    edge,
    flip,
    home,
    open_store,
    opened,
    segment_files,
    strays,
    walk,
)

OLD = [edge(0), edge(100)]
NEW = [edge(0), edge(100), edge(300), edge(400)]
CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "rename")
SQLITE_STEPS = 20
POINTS = 40
"""Most points of one scenario that are tried; when it has more they are spread over all of them."""


class Plug:
    """Counts what changes the disk and pulls the plug at the n-th."""

    def __init__(self, at: int) -> None:
        self.count = 0
        self.at = at

    def tick(self) -> int:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def install(self) -> None:
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        connect = sqlite3.connect

        def counted_connect(*args: object, **options: object) -> sqlite3.Connection:
            db = connect(*args, **options)  # type: ignore[call-overload]
            db.set_progress_handler(self.tick, SQLITE_STEPS)
            assert isinstance(db, sqlite3.Connection)
            return db

        sqlite3.connect = counted_connect  # type: ignore[assignment]

    def _counted(self, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **options: object) -> object:
            self.tick()
            done = call(*args, **options)
            self.tick()
            return done

        return counted


def killed_at(point: int, work: Callable[[], None]) -> int | None:
    """Run ``work`` in a child that dies at ``point``; the number of points when it got through without."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            plug = Plug(point)
            plug.install()
            work()
            plug.at = 0
            os.write(write, plug.count.to_bytes(4, "little"))
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    assert os.WEXITSTATUS(status) == 0
    return int.from_bytes(told, "little")


def every_point(work: Callable[[], None], reset: Callable[[], None]) -> Iterator[int]:
    """Kill ``work`` at point after point, on a fresh copy each time."""
    reset()
    total = killed_at(0, work)
    assert total is not None
    assert total > 20, total
    for point in range(1, total + 1, max(1, total // POINTS)):
        reset()
        assert killed_at(point, work) is None
        yield point


def whole(store: CheckpointStore, root: Path) -> None:
    """Everything the index shows is proven, and nothing else is there."""
    assert strays(root) == []
    assert [report.problems for report in verify(root)] == [()]
    assert store.notice is None


def start_from(root: Path, prepared: Path) -> Callable[[], None]:
    def reset() -> None:
        shutil.rmtree(root, ignore_errors=True)
        if prepared.exists():
            shutil.copytree(prepared, root)

    return reset


@pytest.mark.usefixtures("unsynced")
def test_killed_while_committing(tmp_path: Path) -> None:
    root, prepared = tmp_path / "c", tmp_path / "prepared"
    with opened(prepared) as store:
        chain(store, OLD)

    def work() -> None:
        with opened(root) as store:
            chain(store, NEW)

    seen = set()
    for _ in every_point(work, start_from(root, prepared)):
        with opened(root) as store:
            nodes = walk(store, NEW)
            assert len(nodes) in (2, 4)  # the old index or the new one
            seen.add(len(nodes))
            for node in nodes:
                store.map(node, logits=True).close()
            whole(store, root)
            assert len(chain(store, NEW)) == 4
            store.map(walk(store, NEW)[-1]).close()
    assert seen == {2, 4}


@pytest.mark.usefixtures("unsynced")
def test_killed_while_creating(tmp_path: Path) -> None:
    root = tmp_path / "c"

    def work() -> None:
        open_store(root).close()

    for _ in every_point(work, start_from(root, tmp_path / "nothing")):
        with opened(root) as store:
            assert len(chain(store, OLD)) == 2
            whole(store, root)


@pytest.mark.usefixtures("unsynced")
def test_killed_while_evicting_and_rewriting(tmp_path: Path) -> None:
    root, prepared = tmp_path / "c", tmp_path / "prepared"
    budget = 2 * MIB
    edges = [edge(n * 100) for n in range(8)]
    with opened(prepared, budget=budget) as store:
        chain(store, edges, kv=30_000, state=1000)
    files = [path.name for path in segment_files(prepared)]

    def work() -> None:
        with opened(root, budget=budget) as store:
            for n in range(6):
                chain(store, [edge(10_000 + n)], kv=250_000)

    rewritten = set()
    for _ in every_point(work, start_from(root, prepared)):
        with opened(root, budget=budget) as store:
            nodes = walk(store, edges)
            assert nodes
            for node in nodes:
                store.map(node).close()
            whole(store, root)
            rewritten.add(files[0] not in [path.name for path in segment_files(root)])
            assert disk_usage(root) <= budget
    assert rewritten == {False, True}


@pytest.mark.usefixtures("unsynced")
def test_killed_while_setting_damage_aside(tmp_path: Path) -> None:
    root, prepared = tmp_path / "c", tmp_path / "prepared"
    with opened(prepared) as store:
        nodes = chain(store, OLD)
    path, offset, _ = blob_at(prepared, nodes[1], 0)
    flip(path, offset)

    def work() -> None:
        with opened(root) as store:
            try:
                store.map(walk(store, OLD)[1])
            except CheckpointError:
                return

    for _ in every_point(work, start_from(root, prepared)):
        with opened(root) as store:
            for node in walk(store, OLD)[1:]:
                with pytest.raises(CheckpointError, match="wrong digest"):
                    store.map(node)
            assert len(walk(store, OLD)) == 1
            assert len(chain(store, OLD)) == 2
            store.map(walk(store, OLD)[1]).close()


@pytest.mark.usefixtures("unsynced")
def test_killed_while_clearing(tmp_path: Path) -> None:
    root, prepared = tmp_path / "c", tmp_path / "prepared"
    with opened(prepared) as store:
        chain(store, NEW)

    def work() -> None:
        clear_all(root)

    for _ in every_point(work, start_from(root, prepared)):
        with opened(root) as store:
            assert len(walk(store, NEW)) in (0, 4)
            whole(store, root)


@pytest.mark.usefixtures("unsynced")
def test_killed_while_mending(tmp_path: Path) -> None:
    root, prepared = tmp_path / "c", tmp_path / "prepared"
    with opened(prepared) as store:
        nodes = chain(store, NEW)
    for node, kind in ((nodes[1], 1), (nodes[3], 0)):
        path, offset, _ = blob_at(prepared, node, kind)
        flip(path, offset)

    def work() -> None:
        verify(root, mending=Mending(64 * MIB, clock))

    for _ in every_point(work, start_from(root, prepared)):
        verify(root, mending=Mending(64 * MIB, clock))
        with opened(root) as store:
            assert [node.has_state for node in walk(store, NEW)] == [True, False, True]
            for node in walk(store, NEW):
                store.map(node).close()
            whole(store, root)
            assert len(held(root)) <= 1
            assert len(chain(store, NEW)) == 4


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("way", ["size", "age", "model"])
def test_killed_while_pruning(tmp_path: Path, way: str) -> None:
    root, prepared = tmp_path / "c", tmp_path / "prepared"
    with opened(prepared) as store:
        for n in range(4):
            chain(store, [edge(n * 1000), edge(n * 1000 + 100)], kv=100_000)
    wish = {
        "size": Wish(64 * MIB, to=MIB // 2),
        "age": Wish(64 * MIB, unused_since=1e12),
        "model": Wish(64 * MIB, identity=IDENTITY.digest),
    }[way]

    def work() -> None:
        prune(root, wish)

    for _ in every_point(work, start_from(root, prepared)):
        with opened(root) as store:
            whole(store, root)
            for n in range(4):
                for node in walk(store, [edge(n * 1000), edge(n * 1000 + 100)]):
                    store.map(node).close()
            assert len(chain(store, NEW)) == 4
            whole(store, root)


def test_strays_are_swept_when_a_store_opens(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, OLD)
    stray = home(tmp_path) / "segments" / "ab" / ("ab" * 32 + ".seg")
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"never shown")
    partial = home(tmp_path) / "tmp" / "x.part"
    partial.write_bytes(b"half")
    foreign = stray.with_name("notes.txt")
    foreign.write_bytes(b"not ours")
    open_store(tmp_path).close()
    assert stray.exists()  # a look at every file is for when somebody died
    (tmp_path / FORMAT / "writing").touch()
    with opened(tmp_path) as store:
        assert not stray.exists()
        assert not partial.exists()
        assert foreign.exists()
        assert len(walk(store, OLD)) == 2


def test_strays_are_left_alone_while_another_process_writes(tmp_path: Path) -> None:
    with opened(tmp_path) as store, store._lock.hold():
        partial = home(tmp_path) / "tmp" / "x.part"
        partial.write_bytes(b"being written")
        open_store(tmp_path).close()
        assert partial.exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_disk_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    with opened(tmp_path) as store:
        nodes = chain(store, OLD)

        def refuse(*_: object) -> int:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            with pytest.raises(RecordingStopped, match=os.strerror(code)):
                chain(store, NEW)
        assert strays(tmp_path) == []
        assert walk(store, NEW) == nodes
        assert len(chain(store, NEW)) == 4
        whole(store, tmp_path)


def test_a_write_that_takes_less_than_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:1000]))
    with opened(tmp_path) as store:
        node = chain(store, OLD)[-1]
        store.map(node).close()


def test_an_index_that_is_full(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        nodes = chain(store, OLD)
        assert store._committer is not None
        database = store._committer.index._db
        database.execute("PRAGMA max_page_count = 1")
        with pytest.raises(RecordingStopped, match="full"):
            chain(store, [edge(n * 10_000, 4000) for n in range(100)])
        assert strays(tmp_path) == []
        assert walk(store, OLD) == nodes
        database.execute("PRAGMA max_page_count = 1000000")
        assert len(chain(store, NEW)) == 4


def test_a_folder_that_becomes_read_only_stops_recording_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as store:
        node = chain(store, OLD)[1]

        def refuse(*_: object, **__: object) -> int:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            with pytest.raises(RecordingStopped, match="Read-only file system"):
                chain(store, NEW)
        store.map(node).close()
