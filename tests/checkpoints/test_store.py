"""Recording, lookup and mapping."""

from __future__ import annotations

import sqlite3
import threading
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.checkpoints import Edge, EvictedCheckpoint, Identity, Mode, Recorded
from skippy_chat.checkpoints.index import CHILD, CHILDREN, DEAD, HALF_DEAD, OLDEST_LEAVES, VICTIMS
from skippy_chat.checkpoints.restore import MAPPED_FILES
from skippy_chat.checkpoints.shelf import FORMAT
from skippy_chat.errors import CheckpointError, RecordingStopped
from tests.checkpoints.trees import (
    OTHER,
    chain,
    edge,
    home,
    open_store,
    opened,
    payload,
    segment_files,
    sql,
    walk,
)

EDGES = [edge(0), edge(100, 5), edge(200, 3, Mode.SINGLE)]


def test_what_is_recorded_is_mapped_again_in_a_new_process(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
    with opened(tmp_path) as store:
        nodes = walk(store, EDGES)
        assert [node.position for node in nodes] == [8, 13, 16]
        assert [node.has_logits for node in nodes] == [False, False, True]
        assert store.path(nodes[-1]) == nodes
        with store.map(nodes[-1], logits=True) as mapped:
            assert [(p0, p1) for p0, p1, _ in mapped.kv] == [(0, 8), (8, 13), (13, 16)]
            assert [bytes(rows) for _, _, rows in mapped.kv] == [payload(("kv", e), 4000) for e in EDGES]
            assert mapped.state is not None
            assert mapped.state.readonly
            assert bytes(mapped.state) == payload(("state", EDGES[-1]), 3000)
            assert mapped.logits is not None
            assert bytes(mapped.logits) == payload(("logits", EDGES[-1]), 400)


def test_views_end_with_the_mapping(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, EDGES)[0]
        with store.map(node) as mapped:
            view = mapped.kv[0][2]
        with pytest.raises(ValueError, match="released"):
            bytes(view)


def test_rows_before_a_position_can_be_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, EDGES)[-1]
        with store.map(node, kv_from=8, state=False) as mapped:
            assert [(p0, p1) for p0, p1, _ in mapped.kv] == [(8, 13), (13, 16)]
            assert mapped.state is None
        with store.map(node, kv_from=16) as mapped:
            assert mapped.kv == []


def test_prompts_share_a_prefix_and_bytes_follow_new_tokens_only(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
        recording = store.recording()
        above = recording.add(None, EDGES[0], kv=payload(("kv", EDGES[0]), 4000), state=b"other bytes")
        below = recording.add(above, edge(300, 4), kv=b"k" * 1000)
        done = recording.commit()
        assert (done.nodes, done.states, done.position) == (1, 0, 12)
        assert done.bytes_written < 1000 + 1024
        assert below.node is not None
        assert below.node.parent == walk(store, EDGES)[0].id
        assert store.stats().nodes == 4
        with store.map(walk(store, EDGES)[0]) as mapped:  # the first recording's bytes are kept
            assert mapped.state is not None
            assert bytes(mapped.state) == payload(("state", EDGES[0]), 3000)


def test_the_same_recording_again_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
        files = segment_files(tmp_path)
        recording = store.recording()
        parent = None
        for each in EDGES:
            parent = recording.add(parent, each, kv=b"k" * 10, state=b"s")
        assert recording.commit() == Recorded(nodes=0, states=0, bytes_written=0, position=16)
        assert segment_files(tmp_path) == files


def test_typed_and_generated_are_two_nodes(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        recording = store.recording()
        recording.add(None, edge(1), kv=b"typed")
        recording.add(None, edge(1, mode=Mode.SINGLE), kv=b"generated")
        recording.commit()
        for mode, rows in ((Mode.BATCH, b"typed"), (Mode.SINGLE, b"generated")):
            node = store.child(None, edge(1, mode=mode))
            assert node is not None
            with store.map(node) as mapped:
                assert bytes(mapped.kv[0][2]) == rows


def test_an_equal_key_with_other_ids_is_no_child(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES[:1])
        with sql(tmp_path) as db:
            db.execute("UPDATE nodes SET ids = ?", (edge(7).ids,))
        assert store.child(None, EDGES[0]) is None


def test_children_come_with_their_ids(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, EDGES[:2])[0]
        chain(store, [EDGES[0], edge(500)])
        assert [ids for _, ids in store.children(node)] == [EDGES[1].ids, edge(500).ids]
        assert [ids for _, ids in store.children(None)] == [EDGES[0].ids]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_how_much_of_a_prompt_some_edge_begins_with(tmp_path_factory: Any, data: st.DataObject) -> None:
    # Few values, among them some whose order as bytes is not that of the numbers.
    runs = st.lists(st.sampled_from([1, 2, 255, 256, 257]), min_size=1, max_size=5)
    below = data.draw(st.lists(runs, max_size=6, unique_by=tuple))
    with opened(tmp_path_factory.mktemp("store")) as store:
        assert store.shared_below(None, Edge.of([1]).ids) is None
        for each in below:
            chain(store, [Edge.of(each)])
        mine = data.draw(runs)
        pairs = [zip(mine, each, strict=False) for each in below]
        alike = [sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both)) for both in pairs]
        assert store.shared_below(None, Edge.of(mine).ids) == max(alike, default=None)


def test_a_state_can_be_attached_later_and_is_not_written_twice(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        recording = store.recording()
        recording.add(None, edge(0), kv=b"rows")
        recording.commit()
        for expected in (1, 0):
            node = store.child(None, edge(0))
            assert node is not None
            recording = store.recording()
            recording.attach(node, state=b"state", logits=b"logits")
            assert recording.commit().states == expected
        node = store.child(None, edge(0))
        assert node is not None
        with store.map(node, logits=True) as mapped:
            assert mapped.state is not None
            assert bytes(mapped.state) == b"state"
            assert mapped.logits is not None
            assert bytes(mapped.logits) == b"logits"
        assert len(segment_files(tmp_path)) == 2


def test_a_pending_node_is_a_parent_before_and_after_its_commit(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        prompt, answer = store.recording(), store.recording()
        end = prompt.add(None, edge(0), kv=b"prompt")
        last = answer.add(end, edge(50, 4, Mode.SINGLE), kv=b"answer")
        prompt.commit()
        answer.commit()
        assert last.node is not None
        assert [node.position for node in store.path(last.node)] == [8, 12]


def test_below_a_recording_that_failed_nothing_is_recorded(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        never, after = store.recording(), store.recording()
        end = never.add(None, edge(0), kv=b"prompt")
        after.add(end, edge(50), kv=b"answer")
        with pytest.raises(RecordingStopped, match="no longer stored"):
            after.commit()
        assert store.stats().nodes == 0
        assert segment_files(tmp_path) == []


def test_a_recurrent_model_has_states_and_no_rows(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        recording = store.recording()
        first = recording.add(None, edge(0))
        recording.add(first, edge(10), state=b"state")
        recording.commit()
        node = walk(store, [edge(0), edge(10)])[1]
        assert not node.has_kv
        with store.map(node) as mapped:
            assert mapped.kv == []
            assert mapped.state is not None
            assert bytes(mapped.state) == b"state"


@pytest.mark.usefixtures("unsynced")
def test_a_path_over_more_files_than_are_mapped_at_once(tmp_path: Path) -> None:
    edges = [edge(1000 * n, 2) for n in range(MAPPED_FILES + 5)]
    with opened(tmp_path) as store:
        parent = None
        for each in edges:
            recording = store.recording()
            parent = recording.add(parent, each, kv=payload(each, 100))
            recording.commit()
        assert parent is not None
        assert parent.node is not None
        with store.map(parent.node) as mapped:
            assert [bytes(rows) for _, _, rows in mapped.kv] == [payload(each, 100) for each in edges]


def test_identities_do_not_see_each_other(tmp_path: Path) -> None:
    with opened(tmp_path) as ours, opened(tmp_path, identity=OTHER) as theirs:
        chain(ours, EDGES)
        assert theirs.child(None, EDGES[0]) is None


def test_another_format_lives_beside_ours(tmp_path: Path) -> None:
    (tmp_path / "v0").mkdir()
    (tmp_path / "v0" / "theirs").write_bytes(b"x")
    with opened(tmp_path) as store:
        chain(store, EDGES)
        store.clear()
    assert (tmp_path / "v0" / "theirs").read_bytes() == b"x"


def test_clear_forgets_everything_and_goes_on(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, EDGES)[0]
        store.clear()
        assert store.child(None, EDGES[0]) is None
        assert segment_files(tmp_path) == []
        with pytest.raises(EvictedCheckpoint):
            store.map(node)
        assert len(chain(store, EDGES)) == 3
        assert store.stats().nodes == 3


def test_a_node_in_hand_is_never_taken_for_a_later_one(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        stale = chain(store, EDGES[:1])[0]
        store.clear()
        fresh = chain(store, [edge(900)])[0]
        assert fresh.id != stale.id
        recording = store.recording()
        recording.add(stale, edge(1), kv=b"k")
        with pytest.raises(RecordingStopped, match="no longer stored"):
            recording.commit()


def test_lookups_use_the_index(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        chain(store, EDGES)
    plans = []
    with sql(tmp_path) as db:
        queries = (
            (CHILD, (0, b"")),
            (CHILDREN, (0,)),
            (OLDEST_LEAVES, ()),
            (VICTIMS, ()),
            (DEAD, ()),
            (HALF_DEAD, ()),
        )
        for query, values in queries:
            plans.append([row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", values)])
    assert any("sqlite_autoindex_nodes_1 (parent=? AND key=?)" in step for step in plans[0])
    assert any("sqlite_autoindex_nodes_1 (parent=?)" in step for step in plans[1])
    assert any("leaves" in step for step in plans[2])
    assert any("victims" in step for step in plans[3])
    assert all(any("half_dead" in step for step in plan) for plan in plans[4:])
    for plan in plans:
        assert not any("SCAN" in step and "INDEX" not in step for step in plan), plan
    for plan in plans[2:]:
        assert not any("TEMP B-TREE" in step for step in plan)


def test_folders_are_private(tmp_path: Path) -> None:
    with opened(tmp_path / "a" / "b") as store:
        chain(store, EDGES)
    folders = [path for path in (tmp_path / "a" / "b").rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in [tmp_path / "a" / "b", *folders]} == {0o700}


@pytest.mark.parametrize("below", ["", FORMAT])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, below: str) -> None:
    open_store(tmp_path / "c").close()
    (tmp_path / "c" / below).chmod(0o770)
    with pytest.raises(CheckpointError, match="written by others") as refused:
        open_store(tmp_path / "c")
    assert "chmod go-w" in refused.value.hint


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"")
    with pytest.raises(CheckpointError, match="not a folder"):
        open_store(tmp_path / "c")


def test_an_identity_that_is_no_digest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hex"):
        open_store(tmp_path, identity=Identity("../../elsewhere"))


def test_a_recording_is_committed_once(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        recording = store.recording()
        recording.commit()
        with pytest.raises(ValueError, match="once"):
            recording.commit()


def test_an_attached_node_of_another_recording_is_a_mistake(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        pending = store.recording().add(None, edge(0))
        with pytest.raises(ValueError, match="pending in this recording"):
            store.recording().attach(pending, state=b"s")


def test_reading_goes_on_while_another_thread_commits(tmp_path: Path) -> None:
    """Eight segments are written by one thread; the reader finds what was there throughout."""
    with opened(tmp_path) as store:
        known = chain(store, EDGES)
        failures: list[Exception] = []
        done = threading.Event()

        def write() -> None:
            try:
                for n in range(8):
                    chain(store, [edge(10_000 + n)], kv=500_000)
            except Exception as error:  # noqa: BLE001 - told to the test, whatever it is
                failures.append(error)
            finally:
                done.set()

        writer = threading.Thread(target=write)
        writer.start()
        looks = 0
        while not done.is_set() or looks == 0:
            assert [node.id for node in walk(store, EDGES)] == [node.id for node in known]
            with store.map(known[-1]) as mapped:
                assert len(mapped.kv) == 3
            looks += 1
        writer.join()
        assert failures == []
        assert store.stats().nodes == 11


def test_uses_are_written_when_the_store_closes(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, EDGES)[0]
        store.touch(node)
    with sql(tmp_path) as db:
        used = dict(db.execute("SELECT id, used FROM nodes").fetchall())
    assert max(used, key=lambda each: used[each]) == node.id


def test_a_closed_store_can_be_closed_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(CheckpointError, match="cannot be read"):
        store.child(None, edge(0))


def test_the_index_is_a_wal_database_that_can_shrink(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    db = sqlite3.connect(home(tmp_path) / "index.db")
    try:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    finally:
        db.close()


def test_edges_made_of_ids_and_of_bytes_are_the_same(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        node = chain(store, [Edge.of([1, 2, 3])])[0]
        assert store.child(None, Edge(b"\1\0\0\0\2\0\0\0\3\0\0\0", Mode.BATCH)) == node
