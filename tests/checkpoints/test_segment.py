"""The file format: whatever is written is read back, and no byte can change unnoticed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.checkpoints.segment import (
    ALIGNMENT,
    HEADER_BYTES,
    Layout,
    NodeEntry,
    Place,
    Segment,
    SegmentError,
    lay_out,
)
from skippy_chat.checkpoints.types import Kind, Mode, node_key

ROOT_KEY = bytes(range(32))


def write(sizes: list[int]) -> tuple[Layout, bytearray]:
    """A chain of nodes with one KV blob each, the last one with a state too."""
    nodes, blobs, above, position = [], [], ROOT_KEY, 0
    for number, size in enumerate(sizes):
        ids = bytes(4) * (number + 1)
        position += number + 1
        place = Place(node_key(above, Mode.BATCH, ids), above, position, number + 1, Mode.BATCH)
        nodes.append(NodeEntry(place, ids))
        blobs.append((place, Kind.KV, memoryview(bytes([number]) * size)))
        above = place.key
    blobs.append((nodes[-1].place, Kind.STATE, memoryview(b"state")))
    layout = lay_out(ROOT_KEY, nodes, blobs)
    data = bytearray(layout.file_bytes)
    data[: len(layout.head)] = layout.head
    for entry, (_, _, content) in zip(layout.blobs, blobs, strict=True):
        data[entry.offset : entry.offset + entry.size] = content
    return layout, data


def prove(data: bytes | bytearray, name: str, root_key: bytes = ROOT_KEY) -> Segment:
    segment = Segment(memoryview(data), name=name, root_key=root_key)
    segment.prove_gaps()
    for entry in segment.blobs.values():
        segment.payload(entry)
    return segment


@given(sizes=st.lists(st.integers(1, 200), min_size=1, max_size=6))
def test_round_trip(sizes: list[int]) -> None:
    layout, data = write(sizes)
    segment = prove(data, layout.name)
    assert [len(node.ids) // 4 for node in segment.nodes()] == list(range(1, len(sizes) + 1))
    kv = [entry for entry in layout.blobs if entry.kind is Kind.KV]
    assert [bytes(segment.payload(entry)) for entry in kv] == [bytes([n]) * s for n, s in enumerate(sizes)]
    assert all(entry.offset % ALIGNMENT == 0 for entry in layout.blobs)


@settings(max_examples=300)
@given(at=st.integers(0, 1 << 30), bit=st.integers(0, 7))
def test_every_flipped_bit_is_caught(at: int, bit: int) -> None:
    layout, data = write([100, 37, 150])
    data[at % len(data)] ^= 1 << bit
    with pytest.raises(SegmentError):
        prove(data, layout.name)


@given(size=st.integers(0, 1 << 30))
def test_every_truncation_is_caught(size: int) -> None:
    layout, data = write([100, 37])
    with pytest.raises(SegmentError, match="short file"):
        prove(data[: size % len(data)], layout.name)


def test_a_longer_file_is_caught() -> None:
    layout, data = write([100])
    with pytest.raises(SegmentError, match=r"short file: \d+ of \d+ bytes"):
        prove(data + b"\0", layout.name)


def test_another_stores_file_is_caught() -> None:
    layout, data = write([100])
    with pytest.raises(SegmentError, match="another store"):
        prove(data, layout.name, bytes(32))


def test_another_segments_file_is_caught() -> None:
    first, _ = write([100])
    _, data = write([101])
    with pytest.raises(SegmentError, match="another segment's file"):
        prove(data, first.name)


def test_a_table_with_a_right_digest_but_swapped_owners_is_caught() -> None:
    layout, data = write([64, 64])
    first, second = layout.blobs[0], layout.blobs[1]
    content = bytes(data[first.offset : first.offset + 64]), bytes(data[second.offset : second.offset + 64])
    data[first.offset : first.offset + 64], data[second.offset : second.offset + 64] = content[1], content[0]
    segment = Segment(memoryview(data), name=layout.name, root_key=ROOT_KEY)
    with pytest.raises(SegmentError, match="wrong digest of the KV bytes"):
        segment.payload(first)


def test_the_header_is_128_bytes() -> None:
    assert HEADER_BYTES == 128
