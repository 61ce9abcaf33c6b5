"""Values of the checkpoint tree, and the keys that tie them together.

Invariant: a key follows from what it names (identity, parent, mode, ids) and from nothing else, so equal
keys mean equal histories of the model's state, and a node moved, edited or taken from another store shows.
"""

from __future__ import annotations

import array
import enum
import json
import re
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from blake3 import blake3

from skippy_chat.errors import DamagedCheckpoint

Part: TypeAlias = "str | int | float | bool | bytes"
Buffer: TypeAlias = "bytes | bytearray | memoryview"

ROOT = 0
"""Row id that stands for the root, which is no row."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_IDENTITY = blake3(derive_key_context="skippy-chat checkpoint identity 1")
_ROOT_KEY = blake3(derive_key_context="skippy-chat checkpoint root key 1")
_NODE_KEY = blake3(derive_key_context="skippy-chat checkpoint node key 1")


class EvictedCheckpoint(DamagedCheckpoint):
    """What was looked up has since been evicted or cleared, here or by another process."""

    code = "evicted"


class Mode(enum.IntEnum):
    """How an edge's tokens went through the model: the sums differ, so the nodes do."""

    BATCH = 0  # read in one decode call
    SINGLE = 1  # generated one by one


class Kind(enum.IntEnum):
    """What a stored blob is."""

    KV = 0  # attention rows of the node's own edge
    STATE = 1  # partial state at the node's position
    LOGITS = 2  # last logits at the node's position


@dataclass(frozen=True, slots=True)
class Edge:
    """Tokens from one canonical cut to the next: ``ids`` are int32, little-endian, at least one."""

    ids: bytes
    mode: Mode

    def __post_init__(self) -> None:
        if not self.ids or len(self.ids) % 4:
            raise ValueError(f"an edge holds whole int32 ids, at least one, not {len(self.ids)} bytes")

    @classmethod
    def of(cls, ids: Sequence[int], mode: Mode = Mode.BATCH) -> Edge:
        """Pack token ids."""
        packed = array.array("i", ids)
        if sys.byteorder == "big":
            packed.byteswap()
        return cls(packed.tobytes(), mode)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return len(self.ids) // 4


@dataclass(frozen=True, slots=True)
class Node:
    """A checkpoint as the index knows it; ``position`` counts tokens from the root to its end."""

    id: int
    parent: int | None
    position: int
    tokens: int
    mode: Mode
    has_kv: bool
    has_state: bool
    has_logits: bool
    kv_bytes: int
    state_bytes: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which model, context and native build the bytes belong to: hex BLAKE3 of its named parts."""

    digest: str
    parts: tuple[tuple[str, Part], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest):  # it names a folder
            raise ValueError(f"an identity is 64 hex digits, not {self.digest!r}")

    @classmethod
    def of(cls, **parts: Part) -> Identity:
        """Digest named parts, whatever their order; ``1``, ``1.0``, ``True`` and ``"1"`` are four values."""
        ordered = tuple(sorted(parts.items()))
        hasher = _IDENTITY.copy()
        for name, value in ordered:
            tag, body = _encode_part(value)
            encoded_name = name.encode()
            hasher.update(struct.pack("<I", len(encoded_name)) + encoded_name)
            hasher.update(tag + struct.pack("<Q", len(body)) + body)
        return cls(hasher.hexdigest(), ordered)

    @property
    def root_key(self) -> bytes:
        """Key that stands for the empty history of this identity."""
        hasher = _ROOT_KEY.copy()
        hasher.update(bytes.fromhex(self.digest))
        return hasher.digest()

    def parts_json(self) -> str:
        """Return the parts as one JSON object, bytes as ``{"hex": …}``."""
        plain = {n: {"hex": v.hex()} if isinstance(v, bytes) else v for n, v in self.parts}
        return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"


def _encode_part(value: Part) -> tuple[bytes, bytes]:
    if isinstance(value, bool):
        return b"b", bytes([value])
    if isinstance(value, int):
        return b"i", str(value).encode()
    if isinstance(value, float):
        return b"f", struct.pack("<d", value)
    if isinstance(value, str):
        return b"s", value.encode()
    return b"x", bytes(value)


def node_key(parent_key: bytes, mode: int, ids: bytes) -> bytes:
    """Key of the node reached from ``parent_key`` over ``ids``."""
    hasher = _NODE_KEY.copy()
    hasher.update(parent_key + bytes([mode]))
    hasher.update(ids)
    return hasher.digest()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one commit added: new nodes and states, bytes of the new file, the deepest position in it."""

    nodes: int
    states: int
    bytes_written: int
    position: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Figures of one identity's store; sizes in bytes, ``budget_bytes`` 0 when read without one.

    ``quarantined`` counts blobs found damaged; ``quarantine_bytes``, what of them is kept aside, is part of
    ``allocated_bytes``.
    """

    identity: str
    parts: str
    nodes: int
    states: int
    logits: int
    segments: int
    allocated_bytes: int
    payload_bytes: int
    live_bytes: int
    budget_bytes: int
    quarantined: int
    last_quarantine: str | None
    last_eviction: str | None
    last_used: float | None
    notice: str | None
    quarantine_bytes: int = 0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Result of reading one identity's store whole; empty ``problems`` means every byte is as recorded.

    ``mended`` counts pieces that were set aside, deleted or put right.
    """

    identity: str
    nodes: int
    segments: int
    bytes_read: int
    problems: tuple[str, ...]
    mended: int = 0
