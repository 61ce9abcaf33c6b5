"""A cache folder that may only be read: what it holds is used, nothing new is kept, and that is said once."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints import clear_all, store_stats, verify
from skippy_chat.errors import CheckpointError, DamagedCheckpoint, RecordingStopped
from tests.checkpoints.trees import OTHER, blob_at, chain, edge, flip, home, open_store, opened, walk

pytestmark = pytest.mark.skipif(os.name == "nt", reason="wants Unix permissions")

OLD = [edge(0), edge(100)]
NOBODY = 65534


def read_only(root: Path, work: Callable[[], None]) -> None:
    """Run ``work`` in a child that may read ``root`` but not write it: as nobody, for the super-user may do all."""
    inside = [root, *root.rglob("*")]
    for path in inside:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o500 if path.is_dir() else 0o400)
    if os.geteuid() == 0:
        for above in root.parents:
            if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
                above.chmod(0o755)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - told here, judged by the parent
            traceback.print_exc()
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    for path in inside:
        path.chmod(0o700)
    assert os.waitstatus_to_exitcode(ended) == 0


def test_it_is_read_and_says_once_that_nothing_new_is_kept(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with opened(root) as store:
        chain(store, OLD)

    def work() -> None:
        with opened(root) as store:
            assert store.read_only
            assert store.notice is not None
            assert "cannot be written. What it holds is used; nothing new is kept." in store.notice
            node = walk(store, OLD)[1]
            with store.map(node, logits=True) as mapped:
                assert len(mapped.kv) == 2
                assert mapped.state is not None
                assert mapped.logits is not None
            store.touch(node)
            with pytest.raises(RecordingStopped, match="cannot be written") as refused:
                chain(store, [*OLD, edge(300)])
            assert "--cache-dir" in refused.value.hint
            with pytest.raises(RecordingStopped, match="cannot be written"):
                store.clear()
            assert store.stats().nodes == 2

    read_only(root, work)
    with opened(root) as store:
        assert not store.read_only
        assert store.notice is None
        assert len(chain(store, [*OLD, edge(300)])) == 3


def test_damage_is_met_there_too(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with opened(root) as store:
        path, offset, _ = blob_at(root, chain(store, OLD)[1], 1)
    flip(path, offset)

    def work() -> None:
        with opened(root) as store:
            with pytest.raises(DamagedCheckpoint, match="wrong digest"):
                store.map(walk(store, OLD)[1])
            assert not walk(store, OLD)[1].has_state

    read_only(root, work)


def test_what_was_not_folded_in_yet_is_not_guessed_at(tmp_path: Path) -> None:
    """A writer that was killed leaves a log, which cannot be read without writing: off, with the reason."""
    root, killed = tmp_path / "c", tmp_path / "killed"
    with opened(root) as store:
        chain(store, OLD)
        shutil.copytree(root, killed)  # as it lies on disk while somebody writes
    (home(killed) / "index.db-shm").unlink()
    assert (home(killed) / "index.db-wal").stat().st_size > 0

    def work() -> None:
        with pytest.raises(CheckpointError, match="cannot be written, and its index not be read"):
            open_store(killed)

    read_only(killed, work)


def test_with_the_log_in_place_it_is_read(tmp_path: Path) -> None:
    root, beside = tmp_path / "c", tmp_path / "beside"
    with opened(root) as store:
        chain(store, OLD)
        shutil.copytree(root, beside)

    def work() -> None:
        with opened(beside) as store:
            assert len(walk(store, OLD)) == 2
            store.map(walk(store, OLD)[1]).close()

    read_only(beside, work)


def test_a_model_that_has_nothing_there_has_no_store(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with opened(root) as store:
        chain(store, OLD)

    def work() -> None:
        with pytest.raises(CheckpointError, match="cannot be used"):
            open_store(root, identity=OTHER)
        with pytest.raises(CheckpointError, match="cannot be used"):
            open_store(root / "deeper" / "still")

    read_only(root, work)


def test_it_can_be_looked_at_but_not_cleared(tmp_path: Path) -> None:
    root = tmp_path / "c"
    with opened(root) as store:
        chain(store, OLD)

    def work() -> None:
        (stats,) = store_stats(root)
        assert (stats.nodes, stats.notice) == (2, None)
        assert [report.problems for report in verify(root)] == [()]
        with pytest.raises(RecordingStopped):
            clear_all(root)

    read_only(root, work)
