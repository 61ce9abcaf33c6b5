"""Mapping what a restore needs, with every byte proven before it is handed out.

Invariant: a ``Mapped`` covers an unbroken path from the root whose keys, positions, parents and payloads are those
recorded; on any doubt nothing is handed out and the fault names what is wrong.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from typing_extensions import Self

from skippy_chat.checkpoints.index import BlobAt, Index
from skippy_chat.checkpoints.segment import Place, Segment, SegmentError
from skippy_chat.checkpoints.shelf import Shelf
from skippy_chat.checkpoints.types import Kind, Node, node_key

MAPPED_FILES = 128
"""Files kept mapped at once; each holds a descriptor, so a longer path reads the rest into anonymous pages."""


class DamageError(Exception):
    """What was found wrong: ``node`` and ``kind`` name one blob, no ``kind`` the node and all below it."""

    def __init__(self, reason: str, node: Node, kind: Kind | None, at: BlobAt | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node
        self.kind = kind
        self.at = at


class FileDamageError(DamageError):
    """A whole segment file is missing, short or foreign: nothing in it is to be trusted."""


class MissingFileError(FileDamageError):
    """The file is gone: evicted meanwhile, or lost."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One blob a restore needs, and what the index says of it."""

    node: Node
    place: Place
    kind: Kind
    at: BlobAt


@dataclass(frozen=True, slots=True)
class Trace:
    """One consistent reading of the index: the path to a node, root first, and the blobs wanted on it."""

    line: tuple[tuple[Node, bytes], ...]
    wanted: tuple[Wanted, ...]


class Mapped:
    """Verified bytes of one restore; a context manager, and the views end with it.

    ``kv`` holds (p0, p1, rows) of consecutive half-open token ranges, in order, the last ending at the node.
    """

    def __init__(self) -> None:
        self.kv: list[tuple[int, int, memoryview]] = []
        self.state: memoryview | None = None
        self.logits: memoryview | None = None
        self._open: list[tuple[mmap.mmap, memoryview]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unmap; a view that something still exports from stays valid until that lets go."""
        views = [rows for _, _, rows in self.kv] + [v for v in (self.state, self.logits) if v is not None]
        self.kv, self.state, self.logits = [], None, None
        for view in views:
            with contextlib.suppress(BufferError):
                view.release()
        while self._open:
            mapping, whole = self._open.pop()
            with contextlib.suppress(BufferError):
                whole.release()
                mapping.close()

    def keep(self, mapping: mmap.mmap) -> memoryview:
        """Own a mapping and return a read-only view of it."""
        view = memoryview(mapping).toreadonly()
        self._open.append((mapping, view))
        return view

    @property
    def files(self) -> int:
        """Number of files mapped."""
        return len(self._open)


def trace(
    index: Index, node: Node, *, kv_from: int, state: bool, logits: bool, root_key: bytes
) -> Trace | None:
    """Read the path to ``node`` and where its blobs are; None when the node is no longer there.

    Raises:
        DamageError: the index contradicts itself along the path.
    """
    with index.transaction(write=False):
        line = tuple(index.lineage(node.id))
        if not line or line[-1][0].key != node.key:
            return None
        prove_line(line, root_key)
        wanted = tuple(_wanted(index, line, root_key, kv_from, state=state, logits=logits))
    return Trace(line, wanted)


def prove_line(line: tuple[tuple[Node, bytes], ...], root_key: bytes) -> None:
    """Check that each key and position on a path follows from the one before it.

    Raises:
        DamageError: at the first node where it does not.
    """
    above = None
    for node, ids in line:
        prove_link(above, node, ids, root_key)
        above = node


def prove_link(above: Node | None, node: Node, ids: bytes, root_key: bytes) -> None:
    """Check that a node's key and position follow from the node above it (None: the root).

    Raises:
        DamageError: they do not.
    """
    above_key = root_key if above is None else above.key
    end = (0 if above is None else above.position) + len(ids) // 4
    if node.parent != (above and above.id) or node.key != node_key(above_key, node.mode, ids):
        raise DamageError("wrong parent, mode or ids in the index: its key does not follow", node, None)
    if node.tokens * 4 != len(ids):
        raise DamageError(f"wrong token count in the index: {node.tokens}, not {len(ids) // 4}", node, None)
    if node.position != end:
        raise DamageError(f"wrong position in the index: {node.position}, not {end}", node, None)


def _wanted(
    index: Index,
    line: tuple[tuple[Node, bytes], ...],
    root_key: bytes,
    kv_from: int,
    *,
    state: bool,
    logits: bool,
) -> Iterator[Wanted]:
    above_key = root_key
    with_kv = any(node.has_kv for node, _ in line)
    for node, _ in line:
        place = Place(node.key, above_key, node.position, node.tokens, node.mode)
        last = node is line[-1][0]
        if node.position > kv_from and with_kv:
            yield _locate(index, node, place, Kind.KV)
        if last and state and node.has_state:
            yield _locate(index, node, place, Kind.STATE)
        if last and logits and node.has_logits:
            yield _locate(index, node, place, Kind.LOGITS)
        above_key = node.key


def _locate(index: Index, node: Node, place: Place, kind: Kind) -> Wanted:
    at = index.blob(node.id, kind)
    if at is None:
        first = node.position - node.tokens
        raise DamageError(f"missing {kind.name} of tokens {first} to {node.position}", node, None)
    return Wanted(node, place, kind, at)


def open_trace(shelf: Shelf, found: Trace, root_key: bytes) -> Mapped:
    """Map and prove every blob of a trace.

    Raises:
        DamageError: something is not as recorded; MissingFileError when a file is gone.
        OSError: a file could not be opened or mapped for want of resources.
    """
    mapped = Mapped()
    segments: dict[str, Segment] = {}
    try:
        for want in found.wanted:
            segment = segments.get(want.at.name)
            if segment is None:
                segment = segments[want.at.name] = _open_segment(shelf, want, mapped, root_key)
            _hand_out(mapped, want, segment)
    except BaseException:
        segments.clear()
        mapped.close()
        raise
    return mapped


def _open_segment(shelf: Shelf, want: Wanted, mapped: Mapped, root_key: bytes) -> Segment:
    path = shelf.path(want.at.name)
    try:
        view = mapped.keep(map_file(path, copy=mapped.files >= MAPPED_FILES))
        return Segment(view, name=want.at.name, root_key=root_key)
    except FileNotFoundError:
        raise MissingFileError(f"missing file {path.name[:12]}…", want.node, want.kind, want.at) from None
    except SegmentError as bad:
        raise FileDamageError(f"{bad} in {path.name[:12]}…", want.node, want.kind, want.at) from None


def _hand_out(mapped: Mapped, want: Wanted, segment: Segment) -> None:
    try:
        entry = segment.expect(want.place, want.kind, want.at.offset, want.at.size)
        payload = segment.payload(entry)
    except SegmentError as bad:
        raise DamageError(f"{bad} in {want.at.name[:12]}…", want.node, want.kind, want.at) from None
    if want.kind is Kind.KV:
        mapped.kv.append((want.node.position - want.node.tokens, want.node.position, payload))
    elif want.kind is Kind.STATE:
        mapped.state = payload
    else:
        mapped.logits = payload


def map_file(path: Path, *, copy: bool = False) -> mmap.mmap:
    """Map a file for reading, or read it into anonymous pages, which hold no descriptor.

    Raises:
        SegmentError: the file is empty.
        OSError: it cannot be opened or mapped.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(fd).st_size
        if size == 0:
            raise SegmentError("short file: empty")
        if not copy:
            return mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        pages = mmap.mmap(-1, size)
        with os.fdopen(os.dup(fd), "rb", buffering=0) as file:
            view = memoryview(pages)
            at = 0
            while at < size and (count := file.readinto(view[at:])):
                at += count
            view.release()
        return pages
    finally:
        os.close(fd)
