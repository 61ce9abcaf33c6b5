"""Whatever happens to the bytes on disk is caught, by name, and never offered again."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skippy_chat.checkpoints import CheckpointStore, EvictedCheckpoint, Mode, Node, verify
from skippy_chat.checkpoints.segment import HEADER_BYTES
from skippy_chat.errors import CheckpointError, DamagedCheckpoint
from tests.checkpoints.trees import (
    IDENTITY,
    OTHER,
    blob_at,
    chain,
    edge,
    flip,
    home,
    opened,
    segment_files,
    sql,
    walk,
)

pytestmark = pytest.mark.usefixtures("unsynced")

EDGES = [edge(0), edge(100, 5), edge(200, 3, Mode.SINGLE)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with opened(tmp_path) as made:
        chain(made, EDGES)
        yield made


def caught(store: CheckpointStore, node: Node, match: str) -> None:
    """Mapping ``node`` names the fault, and says so in the statistics."""
    with pytest.raises(DamagedCheckpoint, match=match) as fault:
        store.map(node, logits=True)
    assert fault.value.code == "damaged"
    stats = store.stats()
    assert stats.quarantined >= 1
    assert stats.last_quarantine is not None


def recovers(store: CheckpointStore) -> None:
    """Recording the same again makes everything whole."""
    nodes = chain(store, EDGES)
    assert [node.has_state and node.has_kv for node in nodes] == [True] * 3
    for node in nodes:
        with store.map(node) as mapped:
            assert mapped.state is not None


def test_a_flipped_byte_in_a_state(tmp_path: Path, store: CheckpointStore) -> None:
    node = walk(store, EDGES)[1]
    path, offset, size = blob_at(tmp_path, node, 1)
    flip(path, offset + size - 1)
    caught(store, node, "wrong digest of the STATE bytes")
    nodes = walk(store, EDGES)
    assert [n.has_state for n in nodes] == [True, False, True]
    with store.map(nodes[2]) as mapped:  # its neighbours are as good as before
        assert len(mapped.kv) == 3
    recovers(store)


def test_a_flipped_byte_in_the_logits(tmp_path: Path, store: CheckpointStore) -> None:
    node = walk(store, EDGES)[2]
    path, offset, _ = blob_at(tmp_path, node, 2)
    flip(path, offset)
    caught(store, node, "wrong digest of the LOGITS bytes")
    assert [n.has_logits for n in walk(store, EDGES)] == [False, False, False]


def test_a_flipped_byte_in_the_rows_costs_what_hangs_on_them(tmp_path: Path, store: CheckpointStore) -> None:
    nodes = walk(store, EDGES)
    path, offset, _ = blob_at(tmp_path, nodes[1], 0)
    flip(path, offset)
    caught(store, nodes[2], "token 13 is damaged: wrong digest of the KV bytes")
    assert walk(store, EDGES) == nodes[:1]
    recovers(store)


@pytest.mark.parametrize(
    ("offset", "match"),
    [
        (0, "damaged header"),
        (16, "short file"),  # its size
        (60, "wrong digest of the header and table"),  # its root key
        (HEADER_BYTES - 1, "wrong digest of the header and table"),
        (HEADER_BYTES + 5, "wrong digest of the header and table"),
        (HEADER_BYTES + 600, "wrong digest of the header and table"),
    ],
)
def test_a_flipped_byte_in_header_or_table(
    tmp_path: Path, store: CheckpointStore, offset: int, match: str
) -> None:
    node = walk(store, EDGES)[0]
    flip(segment_files(tmp_path)[0], offset)
    caught(store, node, match)
    assert walk(store, EDGES) == []
    recovers(store)


def test_two_nodes_blobs_swapped_in_the_file(tmp_path: Path, store: CheckpointStore) -> None:
    first, second = walk(store, EDGES)[:2]
    path, one, size = blob_at(tmp_path, first, 1)
    _, two, _ = blob_at(tmp_path, second, 1)
    data = bytearray(path.read_bytes())
    data[one : one + size], data[two : two + size] = data[two : two + size], data[one : one + size]
    path.write_bytes(data)
    caught(store, first, "wrong digest of the STATE bytes")
    caught(store, second, "wrong digest of the STATE bytes")


def test_two_nodes_blobs_swapped_in_the_index(tmp_path: Path, store: CheckpointStore) -> None:
    first, second = walk(store, EDGES)[:2]
    _, one, _ = blob_at(tmp_path, first, 1)
    _, two, _ = blob_at(tmp_path, second, 1)
    with sql(tmp_path) as db:
        db.execute("UPDATE blobs SET offset = ? WHERE node = ? AND kind = 1", (two, first.id))
        db.execute("UPDATE blobs SET offset = ? WHERE node = ? AND kind = 1", (one, second.id))
    caught(store, first, "wrong offset")
    caught(store, second, "wrong offset")


def test_a_blob_of_a_node_from_another_segment(tmp_path: Path, store: CheckpointStore) -> None:
    other = chain(store, [edge(900)])[0]
    node = walk(store, EDGES)[0]
    with sql(tmp_path) as db:
        db.execute(
            "UPDATE blobs SET (segment, offset) ="
            " (SELECT segment, offset FROM blobs WHERE node = ? AND kind = 1) WHERE node = ? AND kind = 1",
            (other.id, node.id),
        )
    caught(store, node, "another node's blob")


EDITS: list[tuple[str, str]] = [
    ("position = position + 1", "wrong position in the index: 14, not 13"),
    ("tokens = tokens + 1", "wrong token count in the index: 6, not 5"),
    ("mode = 1", "its key does not follow"),
    ("parent = 0", "its key does not follow"),
    ("ids = zeroblob(20)", "its key does not follow"),
    ("key = zeroblob(32)", "its key does not follow"),
]


@pytest.mark.parametrize(("edit", "match"), EDITS)
def test_an_edited_index_row(tmp_path: Path, store: CheckpointStore, edit: str, match: str) -> None:
    nodes = walk(store, EDGES)
    with sql(tmp_path) as db:
        db.execute(f"UPDATE nodes SET {edit} WHERE id = ?", (nodes[1].id,))
    caught(store, nodes[2], match)
    assert walk(store, EDGES) == nodes[:1]
    recovers(store)


def test_an_edited_size(tmp_path: Path, store: CheckpointStore) -> None:
    node = walk(store, EDGES)[0]
    with sql(tmp_path) as db:
        db.execute("UPDATE blobs SET bytes = bytes - 1 WHERE node = ? AND kind = 1", (node.id,))
    caught(store, node, "wrong size")


def test_a_lineage_that_runs_in_a_circle_ends(tmp_path: Path, store: CheckpointStore) -> None:
    nodes = walk(store, EDGES)
    with sql(tmp_path) as db:
        db.execute("UPDATE nodes SET parent = ? WHERE id = ?", (nodes[2].id, nodes[0].id))
    caught(store, nodes[2], "its key does not follow")


def test_rows_missing_in_between(tmp_path: Path, store: CheckpointStore) -> None:
    nodes = walk(store, EDGES)
    with sql(tmp_path) as db:
        db.execute("DELETE FROM blobs WHERE node = ? AND kind = 0", (nodes[1].id,))
    caught(store, nodes[2], "missing KV of tokens 8 to 13")
    recovers(store)


def test_a_missing_file(tmp_path: Path, store: CheckpointStore) -> None:
    segment_files(tmp_path)[0].unlink()
    caught(store, walk(store, EDGES)[1], "missing file")
    assert walk(store, EDGES) == []
    recovers(store)


@pytest.mark.parametrize("keep", [0, 100, 400, -1])
def test_a_truncated_file(tmp_path: Path, store: CheckpointStore, keep: int) -> None:
    path = segment_files(tmp_path)[0]
    data = path.read_bytes()
    path.write_bytes(data[:keep])
    caught(store, walk(store, EDGES)[1], "short file")
    recovers(store)


def test_a_stale_file_of_another_store(tmp_path: Path, store: CheckpointStore) -> None:
    with opened(tmp_path, identity=OTHER) as other:
        chain(other, EDGES)
    shutil.copyfile(segment_files(tmp_path, OTHER)[0], segment_files(tmp_path)[0])
    caught(store, walk(store, EDGES)[0], "a file of another store")
    recovers(store)


def test_another_segment_under_this_name(tmp_path: Path, store: CheckpointStore) -> None:
    before = segment_files(tmp_path)[0]
    chain(store, [edge(900)])
    after = next(path for path in segment_files(tmp_path) if path != before)
    shutil.copyfile(after, before)
    caught(store, walk(store, EDGES)[0], "another segment's file")


def test_a_copied_index_of_another_store_is_set_aside(tmp_path: Path) -> None:
    for identity in (OTHER, IDENTITY):
        with opened(tmp_path, identity=identity) as made:
            chain(made, EDGES)
    shutil.copyfile(home(tmp_path, OTHER) / "index.db", home(tmp_path) / "index.db")
    with opened(tmp_path) as store:
        assert store.notice is not None
        assert walk(store, EDGES) == []
        recovers(store)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"not a database" * 1000),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.write_bytes(path.read_bytes()[:100] + bytes(4000)),
        lambda path: path.write_bytes(path.read_bytes().replace(b"indexleavesnodes", b"indexl\xe5avesnodes")),
    ],
    ids=["overwritten", "truncated", "zeroed", "schema garbled"],
)
def test_a_damaged_index_is_set_aside_and_said(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    with opened(tmp_path) as made:
        chain(made, EDGES)
    spoil(home(tmp_path) / "index.db")
    with opened(tmp_path) as store:
        assert store.notice is not None
        assert "begins anew" in store.notice
        assert walk(store, EDGES) == []
        assert segment_files(tmp_path) == []  # what no index knows is swept
        recovers(store)
    with opened(tmp_path) as store:
        assert store.notice is None
        assert len(walk(store, EDGES)) == 3


def test_a_garbled_name_costs_what_it_named(tmp_path: Path) -> None:
    with opened(tmp_path) as made:
        chain(made, EDGES)
    with sqlite3.connect(home(tmp_path) / "index.db") as raw:
        raw.execute("UPDATE segments SET name = CAST(x'ff' || substr(CAST(name AS BLOB), 2) AS TEXT)")
    raw.close()
    with opened(tmp_path) as store:
        found = walk(store, EDGES)
        with pytest.raises(DamagedCheckpoint, match="missing file"):
            store.map(found[-1])
        recovers(store)


def test_an_index_that_proves_damaged_in_use_is_set_aside_at_the_next_start(tmp_path: Path) -> None:
    with opened(tmp_path) as made:
        for n in range(200):
            chain(made, [edge(n * 1000, 200)], kv=10, state=10)
    path = home(tmp_path) / "index.db"
    data = bytearray(path.read_bytes())
    page = data.index(edge(100_000, 200).ids) // 4096 * 4096  # one that opening has no need to read
    data[page : page + 64] = b"\xff" * 64
    path.write_bytes(data)
    with opened(tmp_path) as store:
        assert store.notice is None
        with pytest.raises(CheckpointError, match="malformed"):
            store.children(None)
    with opened(tmp_path) as store:
        assert store.notice is not None
        recovers(store)


def test_damage_is_hidden_at_once_even_while_another_process_writes(tmp_path: Path) -> None:
    with opened(tmp_path) as store, opened(tmp_path) as other:
        nodes = chain(store, EDGES)
        path, offset, _ = blob_at(tmp_path, nodes[1], 0)
        flip(path, offset)
        with other._lock.hold():  # as a commit elsewhere would
            with pytest.raises(DamagedCheckpoint, match="wrong digest of the KV"):
                store.map(nodes[2])
            assert walk(store, EDGES) == nodes[:1]
            assert store.children(nodes[0]) == []
            with pytest.raises(DamagedCheckpoint, match="found damaged before"):
                store.map(nodes[2])
            assert other.child(nodes[0], EDGES[1]) is not None  # not dropped from the index yet
        recovers(store)
        assert store.stats().quarantined == 1


def test_a_file_that_vanished_by_eviction_is_not_called_damaged(tmp_path: Path) -> None:
    with opened(tmp_path) as store, opened(tmp_path) as other:
        nodes = chain(store, EDGES)
        other.clear()
        with pytest.raises(EvictedCheckpoint) as gone:
            store.map(nodes[2])
        assert gone.value.code == "evicted"
        assert store.stats().quarantined == 0


def test_mapped_bytes_outlive_eviction(tmp_path: Path) -> None:
    with opened(tmp_path) as store, opened(tmp_path) as other:
        node = chain(store, EDGES)[2]
        with store.map(node) as mapped:
            before = [bytes(rows) for _, _, rows in mapped.kv]
            other.clear()
            assert segment_files(tmp_path) == []
            assert [bytes(rows) for _, _, rows in mapped.kv] == before


def test_verify_finds_what_mapping_would(tmp_path: Path, store: CheckpointStore) -> None:
    assert [report.problems for report in verify(tmp_path)] == [()]
    nodes = walk(store, EDGES)
    path, offset, _ = blob_at(tmp_path, nodes[1], 1)
    flip(path, offset)
    with sql(tmp_path) as db:
        db.execute("UPDATE nodes SET position = 99 WHERE id = ?", (nodes[2].id,))
    chain(store, [edge(900)])
    (path.parent / ("0" * 64 + ".seg")).write_bytes(b"stray")
    next(
        each for each in segment_files(tmp_path) if each not in (path, path.parent / ("0" * 64 + ".seg"))
    ).unlink()
    problems = "\n".join(verify(tmp_path)[0].problems)
    for what in ("wrong digest of the STATE bytes", "wrong position", "missing file", "not in the index"):
        assert what in problems
    assert len(walk(store, EDGES)) == 3  # nothing was repaired
