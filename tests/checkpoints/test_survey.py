"""Looking at stores without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.checkpoints import clear_all, store_stats, verify
from skippy_chat.checkpoints.shelf import FORMAT
from tests.checkpoints.trees import (
    IDENTITY,
    OTHER,
    chain,
    disk_usage,
    edge,
    home,
    opened,
    segment_files,
)

pytestmark = pytest.mark.usefixtures("unsynced")

EDGES = [edge(0), edge(100)]


def test_where_nothing_was_kept_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert store_stats(tmp_path / "c") == []
    assert verify(tmp_path / "c") == []
    assert clear_all(tmp_path / "c") == 0
    assert not (tmp_path / "c").exists()


def test_figures_are_those_the_store_tells(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
        told = store.stats()
    with opened(tmp_path, identity=OTHER) as store:
        chain(store, EDGES[:1])
    found = {each.identity: each for each in store_stats(tmp_path)}
    mine = found[IDENTITY.digest]
    assert found.keys() == {IDENTITY.digest, OTHER.digest}
    assert (mine.nodes, mine.states, mine.logits, mine.segments) == (2, 2, 1, 1)
    assert (mine.payload_bytes, mine.live_bytes) == (14_400, 14_400)
    assert (mine.budget_bytes, told.budget_bytes) == (0, 64 << 20)
    assert '"n_ubatch": 512' in mine.parts
    assert mine.last_used == told.last_used
    assert mine.notice is None


def test_allocated_bytes_are_what_the_disk_gives(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES, kv=100_000)
        above = (tmp_path, tmp_path / FORMAT, tmp_path / FORMAT / "writer.lock")
        frame = sum(path.lstat().st_blocks * 512 for path in above)
        assert store.stats().allocated_bytes == disk_usage(tmp_path) - frame


def test_used_bytes_are_those_of_all_models_together(tmp_path: Path) -> None:
    with opened(tmp_path) as store, opened(tmp_path, identity=OTHER) as other:
        chain(store, EDGES, kv=100_000)
        chain(other, EDGES, kv=100_000)
        assert store.used_bytes() == other.used_bytes() == disk_usage(tmp_path)


def test_clearing_frees_what_it_says_and_open_stores_go_on(tmp_path: Path) -> None:
    with opened(tmp_path) as store, opened(tmp_path, identity=OTHER) as other:
        chain(store, EDGES, kv=100_000)
        chain(other, EDGES, kv=100_000)
        before = disk_usage(tmp_path)
        freed = clear_all(tmp_path)
        assert 400_000 < freed == before - disk_usage(tmp_path)
        assert [each.nodes for each in store_stats(tmp_path)] == [0, 0]
        assert store.child(None, EDGES[0]) is None
        assert len(chain(store, EDGES)) == 2


def test_a_store_that_cannot_be_read_says_so_and_can_be_cleared(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
    (home(tmp_path) / "index.db").write_bytes(b"not a database" * 100)
    (stats,) = store_stats(tmp_path)
    assert stats.notice is not None
    assert "cannot be read" in stats.notice
    assert stats.allocated_bytes > 14_400
    (report,) = verify(tmp_path)
    assert "index cannot be read" in report.problems[0]
    clear_all(tmp_path)
    assert segment_files(tmp_path) == []
    assert not (home(tmp_path) / "index.damaged.db").exists()
    (stats,) = store_stats(tmp_path)
    assert (stats.nodes, stats.notice) == (0, None)
