"""Giving space back: what goes, what stays, and what is only foreseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest

from skippy_chat.checkpoints import CheckpointStore, Identity, Mending, verify
from skippy_chat.checkpoints.foresight import foresee
from skippy_chat.checkpoints.prune import DROPPING, GIVING_BACK, PruneReport, Wish, prune
from skippy_chat.checkpoints.quarantine import held
from skippy_chat.checkpoints.shelf import FORMAT
from skippy_chat.checkpoints.versions import other_versions
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
    strays,
    walk,
)

pytestmark = pytest.mark.usefixtures("unsynced")

BUDGET = 64 * MIB
EDGES = [edge(0), edge(100), edge(200)]


class Watch:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def store(tmp_path: Path, watch: Watch) -> Iterator[CheckpointStore]:
    made = CheckpointStore.open(tmp_path, IDENTITY, budget_bytes=BUDGET, now=watch)
    yield made
    made.close()


def pruned(root: Path, wish: Wish) -> PruneReport:
    """Prune; what is left is sound, and the figures are what the disk says."""
    before = disk_usage(root)
    report = prune(root, wish)
    assert (report.before_bytes, report.after_bytes) == (before, disk_usage(root))
    assert all(each.problems == () for each in verify(root))
    for identity in (IDENTITY, OTHER):
        if home(root, identity).exists():
            assert strays(root, identity) == []
    return report


def test_where_nothing_is_nothing_goes(tmp_path: Path) -> None:
    for run in (prune, foresee):
        report = run(tmp_path / "c", Wish(BUDGET))
        assert report == PruneReport()
    assert not (tmp_path / "c").exists()


def test_within_the_budget_no_checkpoint_goes(tmp_path: Path, store: CheckpointStore) -> None:
    chain(store, EDGES)
    report = pruned(tmp_path, Wish(BUDGET))
    assert report.checkpoints == 0
    assert len(walk(store, EDGES)) == 3


def test_down_to_a_size(tmp_path: Path, store: CheckpointStore) -> None:
    with opened(tmp_path, identity=OTHER) as other:
        for n in range(20):
            chain(store, [edge(n * 1000)], kv=400_000)
            chain(other, [edge(n * 1000)], kv=400_000)
        foreseen = foresee(tmp_path, Wish(BUDGET, to=6 * MIB))
        told: list[tuple[int, int]] = []
        report = prune(
            tmp_path,
            Wish(BUDGET, to=6 * MIB),
            on_progress=lambda what, done, total: told.append((done, total)) if what == GIVING_BACK else None,
        )
        assert 4 * MIB < disk_usage(tmp_path) <= 6 * MIB
        assert foreseen.after_bytes == 6 * MIB
        assert report.checkpoints >= 20
        assert told[0][0] == 0
        assert told[-1][0] >= told[-1][1]
        left = [len([n for n in range(20) if walk(each, [edge(n * 1000)])]) for each in (store, other)]
        assert sum(left) == 40 - report.checkpoints
        assert min(left) > 0


def test_with_nothing_asked_down_to_the_budget(tmp_path: Path, store: CheckpointStore) -> None:
    for n in range(20):
        chain(store, [edge(n * 1000)], kv=400_000)
    pruned(tmp_path, Wish(budget=5 * MIB))
    assert disk_usage(tmp_path) <= 5 * MIB


def test_space_of_what_was_dropped_before_comes_back_first(tmp_path: Path, store: CheckpointStore) -> None:
    """Rewriting a file that is mostly dead costs no checkpoint."""
    nodes = chain(store, [edge(n * 100) for n in range(10)], kv=100_000, state=300_000)
    index = store._committer
    assert index is not None
    with index.index.transaction():
        for node in nodes[:-1]:
            index.index.drop_blob(node.id, 1)  # type: ignore[arg-type]
    report = pruned(tmp_path, Wish(BUDGET, to=2 * MIB))
    assert report.checkpoints == 0
    assert len(walk(store, [edge(n * 100) for n in range(10)])) == 10


def test_what_cannot_go_is_said(tmp_path: Path, store: CheckpointStore) -> None:
    chain(store, EDGES)
    report = pruned(tmp_path, Wish(BUDGET, to=0))
    assert walk(store, EDGES) == []
    assert "in use by what cannot go" in report.left[0]
    assert len(chain(store, EDGES)) == 3


def test_what_was_not_used_for_long_goes_leaf_by_leaf(
    tmp_path: Path, store: CheckpointStore, watch: Watch
) -> None:
    old, fork = EDGES, [edge(0), edge(700)]
    chain(store, old, kv=200_000)
    lone = [edge(5000)]
    chain(store, lone)
    watch.seconds = 2000
    chain(store, fork)
    wish = Wish(BUDGET, unused_since=1500)
    foreseen = foresee(tmp_path, wish)
    told: list[tuple[str, int, int]] = []
    report = prune(tmp_path, wish, on_progress=lambda *each: told.append(each))
    assert report.checkpoints == foreseen.checkpoints == 3
    assert [len(walk(store, each)) for each in (old, fork, lone)] == [1, 2, 0]
    assert told[-1] == (DROPPING, 3, 3)
    assert report.after_bytes < report.before_bytes - 400_000  # the shared file was rewritten
    assert verify(tmp_path)[0].problems == ()


def test_a_use_keeps_what_is_above_it_too(tmp_path: Path, store: CheckpointStore, watch: Watch) -> None:
    chain(store, EDGES)
    watch.seconds = 2000
    store.touch(walk(store, EDGES)[1])
    chain(store, [edge(900)])  # uses are written with the next commit
    pruned(tmp_path, Wish(BUDGET, unused_since=1500))
    assert len(walk(store, EDGES)) == 2


def test_a_model_that_is_gone_goes_whole(tmp_path: Path, store: CheckpointStore) -> None:
    with opened(tmp_path, identity=OTHER) as other:
        chain(other, EDGES)
    chain(store, EDGES)
    wish = Wish(BUDGET, identity=OTHER.digest[:6])
    foreseen = foresee(tmp_path, wish)
    report = pruned(tmp_path, wish)
    assert report.models == foreseen.models == [OTHER.digest]
    assert report.after_bytes == foreseen.after_bytes
    assert report.checkpoints == foreseen.checkpoints == 3
    assert not home(tmp_path, OTHER).exists()
    assert len(walk(store, EDGES)) == 3


def test_a_model_in_use_is_emptied_and_its_program_goes_on(tmp_path: Path, store: CheckpointStore) -> None:
    chain(store, EDGES)
    report = pruned(tmp_path, Wish(BUDGET, identity=IDENTITY.digest))
    assert "a program has it open" in report.left[0]
    assert report.models == []
    assert walk(store, EDGES) == []
    assert len(chain(store, EDGES)) == 3
    with opened(tmp_path) as again:
        assert len(walk(again, EDGES)) == 3


def test_a_store_with_nothing_left_in_it_goes_too(tmp_path: Path) -> None:
    with opened(tmp_path) as made:
        chain(made, EDGES)
    report = pruned(tmp_path, Wish(BUDGET, unused_since=1e12))
    assert report.models == [IDENTITY.digest]
    assert report.checkpoints == 3
    assert not home(tmp_path).exists()


def test_a_store_whose_index_cannot_be_read_can_be_removed(tmp_path: Path) -> None:
    with opened(tmp_path) as made:
        chain(made, EDGES)
    (home(tmp_path) / "index.db").write_bytes(b"not a database" * 100)
    prune(tmp_path, Wish(BUDGET, identity=IDENTITY.digest[:4]))
    assert not home(tmp_path).exists()


def test_what_was_set_aside_and_strays_go(tmp_path: Path, store: CheckpointStore) -> None:
    path, offset, _ = blob_at(tmp_path, chain(store, [edge(0)], kv=100_000)[0], 0)
    flip(path, offset)
    verify(tmp_path, mending=Mending(BUDGET, clock))
    stray = home(tmp_path) / "segments" / "ab" / ("ab" * 32 + ".seg")
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x" * 50_000)
    (home(tmp_path) / "tmp" / "half.part").write_bytes(b"x" * 9_000)
    foreseen = foresee(tmp_path, Wish(BUDGET))
    assert held(tmp_path) != []
    assert stray.exists()
    report = pruned(tmp_path, Wish(BUDGET))
    assert held(tmp_path) == []
    assert report.quarantine_bytes >= 100_000
    assert report.stray_bytes == 53_248 + 12_288
    assert (foreseen.quarantine_bytes, foreseen.stray_bytes) == (report.quarantine_bytes, report.stray_bytes)


def test_other_versions_are_left_alone_until_asked_for(tmp_path: Path, store: CheckpointStore) -> None:
    for name in ("v1", "v999", "v2x", "notes"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").write_bytes(b"x" * 40_000)
    chain(store, EDGES)
    assert [(each.name, each.newer) for each in other_versions(tmp_path)] == [("v1", False), ("v999", True)]
    assert all(each.allocated_bytes > 40_000 for each in other_versions(tmp_path))
    pruned(tmp_path, Wish(budget=0, to=0))  # not even to save space: they do not count
    assert (tmp_path / "v1").exists()
    foreseen = foresee(tmp_path, Wish(BUDGET, all_versions=True))
    report = pruned(tmp_path, Wish(BUDGET, all_versions=True))
    assert report.versions == foreseen.versions == ["v1", "v999"]
    assert report.version_bytes == foreseen.version_bytes >= 80_000
    assert foreseen.after_bytes == report.after_bytes
    left = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert left == {FORMAT, "v2x", "notes"}


def test_another_version_that_is_being_written_stays(tmp_path: Path, store: CheckpointStore) -> None:
    (tmp_path / "v1").mkdir()
    with filelock.FileLock(tmp_path / "v1" / "writer.lock"):
        report = prune(tmp_path, Wish(BUDGET, all_versions=True))
    assert "a program of that version is writing it" in report.left[0]
    assert (tmp_path / "v1").exists()


def test_other_versions_do_not_count_against_the_budget(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "theirs").write_bytes(b"x" * 3 * MIB)
    with opened(tmp_path, budget=2 * MIB) as store:
        assert len(chain(store, EDGES, kv=100_000)) == 3
        assert store.stats().allocated_bytes < 2 * MIB
        store.clear()
    assert (tmp_path / "v1" / "theirs").exists()


def test_a_recording_made_while_space_is_given_back_is_whole(tmp_path: Path, store: CheckpointStore) -> None:
    for n in range(40):
        chain(store, [edge(n * 1000)], kv=400_000)
    recorded: list[Identity | int] = []

    def record(*_: object) -> None:
        if len(recorded) < 2:
            recorded.append(len(chain(store, [edge(100_000 + len(recorded))])))

    prune(tmp_path, Wish(BUDGET, to=4 * MIB), on_progress=record)
    assert recorded == [1, 1]
    assert verify(tmp_path)[0].problems == ()
