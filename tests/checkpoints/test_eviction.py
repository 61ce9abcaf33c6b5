"""The byte budget holds, and what is used outlives what is not."""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints import CheckpointStore, Edge, Node, Pending, verify
from skippy_chat.checkpoints.index import VICTIMS
from skippy_chat.checkpoints.plan import OWN_FILE_BYTES
from skippy_chat.errors import CheckpointError, RecordingStopped
from tests.checkpoints.trees import (
    MIB,
    OTHER,
    chain,
    disk_usage,
    edge,
    flip,
    opened,
    payload,
    segment_files,
    sql,
    walk,
)

pytestmark = pytest.mark.usefixtures("unsynced")


def extend(
    store: CheckpointStore,
    parent: Node | Pending | None,
    first: int,
    *,
    nodes: int = 1,
    kv: int,
    state: int = 0,
) -> Pending:
    recording = store.recording()
    for n in range(nodes):
        each = edge(first + 100 * n)
        parent = recording.add(parent, each, kv=payload(each, kv), state=payload((each, "s"), state))
    recording.commit()
    assert isinstance(parent, Pending)
    return parent


def test_a_conversation_that_outgrows_the_budget_gives_up_old_states_and_goes_on(tmp_path: Path) -> None:
    """40 turns of 20 KB of rows and 300 KB of state: 13 MB in all, on a budget of 6 MiB."""
    budget = 6 * MIB
    with opened(tmp_path, budget=budget) as store:
        end: Pending | None = None
        for n in range(40):
            end = extend(store, end, n * 1000, nodes=2, kv=10_000, state=150_000)
            assert disk_usage(tmp_path) <= budget
        assert end is not None
        assert end.node is not None
        line = store.path(end.node)
        assert len(line) == 80
        assert all(node.has_kv for node in line)
        kept = [number for number, node in enumerate(line) if node.has_state]
        assert kept[0] == 0
        assert kept[-2:] == [78, 79]
        assert len(kept) < 40
    assert [report.problems for report in verify(tmp_path)] == [()]


def test_the_budget_holds_over_many_random_commits(tmp_path: Path) -> None:
    """300 commits into 3 MiB, most of them extending something: never above, and all that is kept is whole."""
    budget = 3 * MIB
    chance = random.Random(7)
    with opened(tmp_path, budget=budget) as store, opened(tmp_path, budget=budget, identity=OTHER) as other:
        ends: list[Pending | None] = [None]
        theirs: list[Pending | None] = [None]
        stopped = recorded = 0
        for n in range(300):
            mine = chance.random() < 0.8
            into, known = (store, ends) if mine else (other, theirs)
            parent = chance.choice(known[-6:])
            try:
                end = extend(
                    into,
                    parent,
                    n * 10_000,
                    nodes=chance.randint(1, 6),
                    kv=chance.choice([500, 20_000, 60_000]),
                    state=chance.choice([0, 30_000, 150_000]),
                )
            except RecordingStopped:
                stopped += 1
                known[:] = [None]
            else:
                recorded += 1
                known.append(end)
            assert disk_usage(tmp_path) <= budget
        assert recorded > 230, stopped  # what stops them is a parent that was evicted meanwhile
        assert store.stats().allocated_bytes + other.stats().allocated_bytes <= budget
        assert re.fullmatch(
            r"1970-01-01T\S+\+00:00: \d+ nodes and \d+ states dropped, \d+ files removed, \d+ of them rewritten",
            store.stats().last_eviction or "",
        )
    assert [report.problems for report in verify(tmp_path)] == [(), ()]
    assert disk_usage(tmp_path) <= budget


def test_the_least_recently_used_leaf_goes_first(tmp_path: Path) -> None:
    with opened(tmp_path, budget=2 * MIB) as store:
        first, second = (chain(store, [edge(n)], kv=600_000)[0] for n in (0, 100))
        store.touch(first)
        chain(store, [edge(200)], kv=600_000)
        assert store.child(None, edge(0)) == first
        assert store.child(None, edge(100)) is None
        assert second.id not in {node.id for node, _ in store.children(None)}


def test_a_prefix_outlives_what_hangs_on_it(tmp_path: Path) -> None:
    with opened(tmp_path, budget=3 * MIB) as store:
        trunk = extend(store, None, 0, kv=300_000)
        for n in range(1, 20):
            extend(store, trunk, n * 1000, kv=400_000)
            assert store.child(None, edge(0)) is not None
        assert 1 <= len(store.children(trunk.node)) < 19


def test_what_a_commit_extends_is_never_evicted_by_it(tmp_path: Path) -> None:
    budget = 2 * MIB
    with opened(tmp_path, budget=budget) as store:
        end = None
        for depth in range(5):
            end = extend(store, end, depth * 1000, kv=300_000)
        with pytest.raises(RecordingStopped, match="budget") as stopped:
            extend(store, end, 9000, kv=300_000)
        assert "Raise the disk budget" in stopped.value.hint
        assert end is not None
        assert end.node is not None
        with store.map(end.node) as mapped:
            assert len(mapped.kv) == 5
        assert disk_usage(tmp_path) <= budget


def test_what_can_never_fit_costs_nothing_that_is_stored(tmp_path: Path) -> None:
    with opened(tmp_path, budget=2 * MIB) as store:
        nodes = chain(store, [edge(0), edge(100)])
        files = segment_files(tmp_path)
        with pytest.raises(RecordingStopped, match="no room"):
            chain(store, [edge(200)], kv=3 * MIB)
        assert walk(store, [edge(0), edge(100)]) == nodes
        assert segment_files(tmp_path) == files


def test_a_state_attached_counts_too(tmp_path: Path) -> None:
    with opened(tmp_path, budget=MIB) as store:
        node = chain(store, [edge(0), edge(50)])[0]
        recording = store.recording()
        below = recording.add(node, edge(100), kv=b"k")
        recording.attach(node, logits=bytes(2 * MIB))
        recording.attach(below, state=b"s")
        with pytest.raises(RecordingStopped, match="no room"):
            recording.commit()
        assert store.child(node, edge(100)) is None
        assert store.child(None, edge(0)) == node


def outgrow(store: CheckpointStore) -> list[Edge]:
    """Record eight edges in one file, and then so much that six of them must go."""
    edges = [edge(n * 100) for n in range(8)]
    chain(store, edges, kv=30_000, state=1000)
    for n in range(6):
        chain(store, [edge(10_000 + n)], kv=250_000)
    return edges


def test_a_segment_more_than_half_dead_is_rewritten_and_its_nodes_map_as_before(tmp_path: Path) -> None:
    with opened(tmp_path, budget=2 * MIB) as store:
        edges = outgrow(store)
        kept = walk(store, edges)
        assert len(kept) == 2
        for node, each in zip(kept, edges, strict=False):
            with store.map(node) as mapped:
                assert bytes(mapped.kv[-1][2]) == payload(("kv", each), 30_000)
                assert mapped.state is not None
                assert bytes(mapped.state) == payload(("state", each), 1000)
        with sql(tmp_path) as db:
            assert db.execute("SELECT COUNT(*) FROM segments WHERE live < payload").fetchone() == (0,)
    assert verify(tmp_path)[0].problems == ()


def test_rewriting_does_not_carry_damage_along(tmp_path: Path) -> None:
    edges = [edge(n * 100) for n in range(8)]
    with opened(tmp_path, budget=2 * MIB) as store:
        chain(store, edges, kv=30_000, state=1000)
        (file,) = segment_files(tmp_path)
        with sql(tmp_path) as db:
            offset = db.execute("SELECT offset FROM blobs WHERE node = 2 AND kind = 0").fetchone()[0]
        flip(file, offset)
        for n in range(6):
            chain(store, [edge(10_000 + n)], kv=250_000)
        assert file not in segment_files(tmp_path)
        assert len(walk(store, edges)) == 1
    assert verify(tmp_path)[0].problems == ()


def test_all_identities_share_the_budget(tmp_path: Path) -> None:
    with opened(tmp_path, budget=2 * MIB, identity=OTHER) as old:
        chain(old, [edge(0)], kv=MIB)
    with opened(tmp_path, budget=2 * MIB) as store:
        chain(store, [edge(0)], kv=1_500_000)
        assert disk_usage(tmp_path) <= 2 * MIB
        assert segment_files(tmp_path, OTHER) == []
        with opened(tmp_path, budget=2 * MIB, identity=OTHER) as old:
            assert old.child(None, edge(0)) is None


def test_a_neighbour_that_cannot_be_read_counts_and_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path, identity=OTHER) as old:
        chain(old, [edge(0)], kv=MIB)
    file = segment_files(tmp_path, OTHER)[0]
    (file.parents[2] / "index.db").write_bytes(b"not a database" * 1000)
    with opened(tmp_path, budget=2 * MIB) as store:
        with pytest.raises(RecordingStopped, match="no room"):
            chain(store, [edge(0)], kv=1_500_000)
        chain(store, [edge(0)], kv=10_000)
    assert file.exists()


def test_the_index_gives_back_what_it_grew_by(tmp_path: Path) -> None:
    """Nodes without rows or states weigh in the index alone; it is held to the budget as well."""
    budget = MIB
    with opened(tmp_path, budget=budget) as store:
        parent = None
        for n in range(60):
            recording = store.recording()
            for m in range(8):
                recording.add(parent, Edge.of(range(n * 10_000 + m, n * 10_000 + m + 1000)))
            recording.commit()
            assert disk_usage(tmp_path) <= budget
        assert 0 < store.stats().nodes < 480


def test_a_budget_below_an_empty_store_records_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, budget=10_000) as store:
        with pytest.raises(CheckpointError, match="no room"):
            chain(store, [edge(0)])
        assert store.stats().nodes == 0
        assert segment_files(tmp_path) == []


def test_a_budget_that_was_lowered_is_reached_by_the_next_recording(tmp_path: Path) -> None:
    """Even by one that needs no room, because all of it is stored."""
    kept = [edge(n * 100) for n in range(4)]
    with opened(tmp_path, budget=16 * MIB) as store:
        for n in range(20):
            chain(store, [edge(10_000 + n)], kv=400_000)
        chain(store, kept, kv=50_000)
    assert disk_usage(tmp_path) > 8 * MIB
    with opened(tmp_path, budget=3 * MIB) as store:
        assert len(chain(store, kept, kv=50_000)) == 4
        assert disk_usage(tmp_path) <= 3 * MIB


def test_a_budget_that_no_longer_holds_what_is_extended_is_reached_too(tmp_path: Path) -> None:
    with opened(tmp_path, budget=16 * MIB) as store:
        end = extend(store, None, 0, nodes=20, kv=300_000)
    with opened(tmp_path, budget=2 * MIB) as store:
        node = walk(store, [edge(100 * n) for n in range(20)])[-1]
        assert end.node is not None
        with pytest.raises(RecordingStopped, match="budget"):
            extend(store, node, 90_000, kv=300_000)
        assert disk_usage(tmp_path) <= 2 * MIB
    assert verify(tmp_path)[0].problems == ()


def test_the_budget_holds_at_every_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at before and after every call that changes the disk, those of SQLite between its steps."""
    budget, seen = 4 * MIB, list[int]()

    def looked(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*args: object, **options: object) -> object:
            done = call(*args, **options)
            seen.append(disk_usage(tmp_path))
            return done

        return wrapped

    chance = random.Random(3)
    with opened(tmp_path, budget=budget) as store:
        for name in ("write", "replace", "unlink", "mkdir"):
            monkeypatch.setattr(os, name, looked(getattr(os, name)))
        assert store._committer is not None
        store._committer.index._db.set_progress_handler(lambda: seen.append(disk_usage(tmp_path)), 500)
        end: Pending | None = None
        for n in range(60):
            end = None if n % 12 == 0 else end
            end = extend(
                store,
                end,
                n * 1000,
                nodes=chance.randint(1, 4),
                kv=chance.choice([2_000, 40_000]),
                state=chance.choice([10_000, 120_000]),
            )
    assert len(seen) > 500
    assert max(seen) <= budget
    assert max(seen) > budget // 2


def test_a_conversation_thins_out_its_states_and_keeps_its_first_and_its_newest(tmp_path: Path) -> None:
    """What is dropped lies between, and what stays there is spread: the further back, the wider apart."""
    with opened(tmp_path, budget=6 * MIB) as store:
        end: Pending | None = None
        for n in range(60):
            end = extend(store, end, n * 1000, kv=2_000, state=200_000)
        assert end is not None
        assert end.node is not None
        kept = [number for number, node in enumerate(store.path(end.node)) if node.has_state]
        assert {0, 58, 59} <= set(kept)
        assert 15 < len(kept) < 30
        gaps = [later - earlier for earlier, later in itertools.pairwise(kept)]
        assert gaps == sorted(gaps, reverse=True)
        assert len([number for number in kept if number < 40]) >= 3


def test_a_system_prompt_in_use_outlives_sessions_below_it(tmp_path: Path) -> None:
    with opened(tmp_path, budget=4 * MIB) as store:
        system = extend(store, None, 0, kv=20_000, state=200_000)
        for n in range(1, 60):
            session = extend(store, system, n * 1000, kv=20_000, state=200_000)
            extend(store, session, n * 1000 + 500, kv=20_000, state=200_000)
        kept = store.child(None, edge(0))
        assert kept is not None
        assert kept.has_state
        assert 3 < len(store.children(kept)) < 20


def test_victims_are_found_by_index(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, [edge(0), edge(100)])
    with sql(tmp_path) as db:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {VICTIMS}")]
    assert plan == ["SCAN nodes USING INDEX victims"]


def test_large_states_lie_alone_and_go_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, [edge(0), edge(100)], kv=4000, state=OWN_FILE_BYTES)
        assert len(segment_files(tmp_path)) == 3
        chain(store, [edge(500), edge(600)], kv=4000, state=OWN_FILE_BYTES - 1)
        assert len(segment_files(tmp_path)) == 4
