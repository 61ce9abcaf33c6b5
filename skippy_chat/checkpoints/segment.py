"""The segment file: one prompt's, answer's or tool step's new edges and states.

    header   128 bytes: magic, version, counts, sizes, root key; its last 32 bytes are the BLAKE3 of the
             rest of the header and the table, and in hex the file's name
    table    blob entries, then node entries with their ids
    payload  each blob at a multiple of 64 bytes

Invariant: every byte that matters is under a digest (the header's, or a blob's own, which covers what the blob
belongs to as well as its bytes), so a segment can be verified with nothing but its identity's root key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blake3 import blake3

from skippy_chat.checkpoints.types import Kind, Mode

MAGIC = b"SKIPSEG\n"
VERSION = 1
ALIGNMENT = 64

_HEADER = struct.Struct("<8sIIQQII32s24x")  # magic, version, flags, file, table, blobs, nodes, root key
_DIGEST = 32
HEADER_BYTES = _HEADER.size + _DIGEST
_BLOB = struct.Struct(
    "<32s32sQIBB2xQQ32s"
)  # key, parent key, position, tokens, mode, kind, offset, bytes, digest
_NODE = struct.Struct("<32s32sQIB3x")  # key, parent key, position, tokens, mode; ids follow
_META = struct.Struct("<B32s32s32sQIBQ")  # kind, root key, key, parent key, position, tokens, mode, bytes

_TABLE_HASH = blake3(derive_key_context="skippy-chat checkpoint segment header 1")
_BLOB_HASH = blake3(derive_key_context="skippy-chat checkpoint segment blob 1")


class SegmentError(Exception):
    """A segment file, or a blob in it, is not what was recorded; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tree a blob belongs; part of what its digest covers."""

    key: bytes
    parent_key: bytes
    position: int
    tokens: int
    mode: Mode


@dataclass(frozen=True, slots=True)
class BlobEntry:
    """One blob of a segment: ``offset`` and ``size`` in bytes, within the file."""

    place: Place
    kind: Kind
    offset: int
    size: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """One node a segment introduced, with the ids of its edge."""

    place: Place
    ids: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """A segment about to be written: ``head`` is header and table, ``blobs`` in file order."""

    name: str
    head: bytes
    blobs: tuple[BlobEntry, ...]
    file_bytes: int


def blob_digest(root_key: bytes, place: Place, kind: Kind, payload: memoryview) -> bytes:
    """BLAKE3 over what the blob belongs to and its bytes."""
    hasher = _BLOB_HASH.copy()
    hasher.update(
        _META.pack(
            kind,
            root_key,
            place.key,
            place.parent_key,
            place.position,
            place.tokens,
            place.mode,
            len(payload),
        )
    )
    hasher.update(payload)
    return hasher.digest()


def lay_out(
    root_key: bytes, nodes: Sequence[NodeEntry], blobs: Sequence[tuple[Place, Kind, memoryview]]
) -> Layout:
    """Decide every offset and digest of a new segment; nothing is written."""
    table_bytes = _BLOB.size * len(blobs) + sum(_NODE.size + len(node.ids) for node in nodes)
    end = HEADER_BYTES + table_bytes
    entries = []
    for place, kind, payload in blobs:
        offset = aligned(end)
        entries.append(
            BlobEntry(place, kind, offset, len(payload), blob_digest(root_key, place, kind, payload))
        )
        end = offset + len(payload)
    table = b"".join([_pack_blob(entry) for entry in entries] + [_pack_node(node) for node in nodes])
    fields = _HEADER.pack(MAGIC, VERSION, 0, end, table_bytes, len(blobs), len(nodes), root_key)
    digest = _head_digest(fields, table)
    return Layout(digest.hex(), fields + digest + table, tuple(entries), end)


def aligned(offset: int) -> int:
    """Round up to the payload alignment."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


class Segment:
    """A mapped segment whose header and table have been verified; payloads are verified as they are asked for."""

    def __init__(self, view: memoryview, *, name: str, root_key: bytes) -> None:
        self._view = view
        self._root_key = root_key
        if len(view) < HEADER_BYTES:
            raise SegmentError(f"short file: {len(view)} bytes, less than a header")
        magic, version, _, file_bytes, table_bytes, blobs, nodes, root = _HEADER.unpack_from(view)
        if magic != MAGIC or version != VERSION:
            raise SegmentError("damaged header: not a segment of this version")
        if len(view) != file_bytes:
            raise SegmentError(f"short file: {len(view)} of {file_bytes} bytes")
        if HEADER_BYTES + table_bytes > file_bytes:
            raise SegmentError("damaged header: its table does not fit the file")
        table = view[HEADER_BYTES : HEADER_BYTES + table_bytes]
        stored = bytes(view[_HEADER.size : HEADER_BYTES])
        if _head_digest(view[: _HEADER.size], table) != stored:
            raise SegmentError("wrong digest of the header and table")
        if root != root_key:
            raise SegmentError("a file of another store")
        if stored.hex() != name:
            raise SegmentError("another segment's file under this name")
        self._table = table
        self._nodes = nodes
        self.blobs: dict[tuple[bytes, Kind], BlobEntry] = {}
        for fields in _BLOB.iter_unpack(table[: blobs * _BLOB.size]):
            entry = _unpack_blob(fields)
            self.blobs[entry.place.key, entry.kind] = entry
        self._nodes_at = blobs * _BLOB.size

    @property
    def payload_bytes(self) -> int:
        """Bytes of all its blobs."""
        return sum(entry.size for entry in self.blobs.values())

    def nodes(self) -> Iterator[NodeEntry]:
        """Yield the nodes this segment introduced."""
        at = self._nodes_at
        for _ in range(self._nodes):
            place = _place(*_NODE.unpack_from(self._table, at))
            at += _NODE.size
            yield NodeEntry(place, bytes(self._table[at : at + 4 * place.tokens]))
            at += 4 * place.tokens

    def prove_gaps(self) -> None:
        """Check that the bytes between payloads, which no digest covers, are zero.

        Raises:
            SegmentError: some are not.
        """
        at = HEADER_BYTES + len(self._table)
        for entry in sorted(self.blobs.values(), key=lambda blob: blob.offset):
            if any(self._view[at : entry.offset]):
                raise SegmentError("stray bytes between blobs")
            at = entry.offset + entry.size

    def payload(self, entry: BlobEntry) -> memoryview:
        """Return a blob's bytes once they are proven to be those recorded.

        Raises:
            SegmentError: they are not.
        """
        if entry.offset + entry.size > len(self._view):
            raise SegmentError(f"short file: no room for its {entry.kind.name} blob")
        payload = self._view[entry.offset : entry.offset + entry.size]
        if blob_digest(self._root_key, entry.place, entry.kind, payload) != entry.digest:
            raise SegmentError(f"wrong digest of the {entry.kind.name} bytes")
        return payload

    def pieces(self) -> list[tuple[int, bytes | memoryview]]:
        """Return the file as (offset, bytes) of its head and its blobs, each proven, without what is between them."""
        entries = sorted(self.blobs.values(), key=lambda blob: blob.offset)
        head = self._view[: HEADER_BYTES + len(self._table)]
        return [(0, head), *((entry.offset, self.payload(entry)) for entry in entries)]

    def fault(self, key: tuple[bytes, Kind]) -> str:
        """What is wrong with a blob's bytes; "" when they are those recorded."""
        try:
            self.payload(self.blobs[key])
        except SegmentError as bad:
            return str(bad)
        return ""

    def expect(self, place: Place, kind: Kind, offset: int, size: int) -> BlobEntry:
        """Return the entry of a blob the index points at, once both agree about it.

        Raises:
            SegmentError: they do not; the text names what differs.
        """
        entry = self.blobs.get((place.key, kind))
        if entry is None:
            raise SegmentError(f"the segment holds no {kind.name} of this node: another node's blob")
        for what, ours, theirs in (
            ("parent", place.parent_key, entry.place.parent_key),
            ("position", place.position, entry.place.position),
            ("token count", place.tokens, entry.place.tokens),
            ("mode", place.mode, entry.place.mode),
            ("offset", offset, entry.offset),
            ("size", size, entry.size),
        ):
            if ours != theirs:
                raise SegmentError(f"wrong {what}: index and segment differ about its {kind.name}")
        return entry


def _head_digest(fields: bytes | memoryview, table: bytes | memoryview) -> bytes:
    hasher = _TABLE_HASH.copy()
    hasher.update(fields)
    hasher.update(table)
    return hasher.digest()


def _pack_blob(entry: BlobEntry) -> bytes:
    at = entry.place
    return _BLOB.pack(
        at.key,
        at.parent_key,
        at.position,
        at.tokens,
        at.mode,
        entry.kind,
        entry.offset,
        entry.size,
        entry.digest,
    )


def _unpack_blob(fields: tuple[bytes, bytes, int, int, int, int, int, int, bytes]) -> BlobEntry:
    key, parent_key, position, tokens, mode, kind, offset, size, digest = fields
    return BlobEntry(_place(key, parent_key, position, tokens, mode), Kind(kind), offset, size, digest)


def _pack_node(node: NodeEntry) -> bytes:
    at = node.place
    return _NODE.pack(at.key, at.parent_key, at.position, at.tokens, at.mode) + node.ids


def _place(key: bytes, parent_key: bytes, position: int, tokens: int, mode: int) -> Place:
    return Place(key, parent_key, position, tokens, Mode(mode))
