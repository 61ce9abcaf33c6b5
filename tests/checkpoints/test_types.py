"""Identities, edges and keys."""

from __future__ import annotations

import pytest

from skippy_chat.checkpoints import Edge, Identity, Mode
from skippy_chat.checkpoints.types import node_key


def test_an_identity_does_not_depend_on_the_order_of_its_parts() -> None:
    assert Identity.of(a=1, b="x") == Identity.of(b="x", a=1)


def test_parts_of_different_types_are_different_identities() -> None:
    digests = {Identity.of(a=value).digest for value in (1, 1.0, True, "1", b"1")}
    assert len(digests) == 5


def test_parts_cannot_run_into_each_other() -> None:
    assert Identity.of(a="xb", b="") != Identity.of(a="x", b="b")
    assert Identity.of(ab="c") != Identity.of(a="bc")


def test_parts_are_kept_for_people() -> None:
    assert '"weights": {\n  "hex": "00ff"\n }' in Identity.of(weights=b"\x00\xff").parts_json()


@pytest.mark.parametrize("ids", [b"", b"abc"])
def test_an_edge_holds_whole_ids_at_least_one(ids: bytes) -> None:
    with pytest.raises(ValueError, match="whole int32"):
        Edge(ids, Mode.BATCH)


def test_an_edge_packs_ids_little_endian() -> None:
    edge = Edge.of([1, 258])
    assert edge.ids == b"\x01\0\0\0\x02\x01\0\0"
    assert edge.tokens == 2


def test_a_key_depends_on_parent_mode_and_ids() -> None:
    keys = {
        node_key(bytes(32), Mode.BATCH, b"\0" * 4),
        node_key(bytes(32), Mode.SINGLE, b"\0" * 4),
        node_key(bytes(31) + b"\1", Mode.BATCH, b"\0" * 4),
        node_key(bytes(32), Mode.BATCH, b"\0" * 8),
    }
    assert len(keys) == 4
