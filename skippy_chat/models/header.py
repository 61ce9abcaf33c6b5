"""Reads the header of a GGUF file: metadata and tensor table, and never a weight.

The ``gguf`` package maps the whole file, builds one object per vocabulary entry and believes every count it
finds, so a truncated or hostile file costs seconds, memory or a crash there. Invariant kept here: a count is
compared with the bytes that are left before anything is allocated or looped over, and every fault is one
``ModelFileError`` that names the file and what is wrong with it.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO, NoReturn

from skippy_chat.errors import ModelFileError
from skippy_chat.models.foreign import foreign_format
from skippy_chat.models.tensor_types import TENSOR_TYPES, TensorType

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32

TYPE_UINT32 = 4
TYPE_STRING = 8
TYPE_ARRAY = 9
_SCALARS: dict[int, struct.Struct] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    TYPE_UINT32: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")

_CHUNK = 1 << 18
_MAX_HEADER = 1 << 29  # the largest vocabularies need some 30 MB
_MAX_KEY = 1 << 16
_MAX_TEXT = 1 << 24
_MAX_TENSOR_NAME = 63
_MAX_DIMS = 4
_MAX_ELEMENTS = (1 << 63) - 1
_LEAST_ENTRY = 8 + 4 + 1  # an entry's key length, type and shortest value
_LEAST_TENSOR = 8 + 4 + 4 + 8

Value = int | float | bool | str


@dataclass(frozen=True, slots=True)
class MetaEntry:
    """One metadata entry; ``raw_start`` and ``raw_end`` bound the file bytes of its type tag and value.

    ``value`` is None for arrays, which are passed over and never built.
    """

    key: str
    value_type: int
    value: Value | None
    raw_start: int
    raw_end: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One row of the tensor table; ``shape`` is innermost first, ``start`` a byte position in the file."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    type: TensorType
    start: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """A file's metadata by key, in file order, and its tensors; ``size`` is the file's size in bytes."""

    path: Path
    version: int
    size: int
    alignment: int
    metadata: Mapping[str, MetaEntry]
    tensors: tuple[TensorInfo, ...]

    def text(self, key: str) -> str | None:
        """Return a string entry, None when absent or of another type."""
        entry = self.metadata.get(key)
        return entry.value if entry is not None and isinstance(entry.value, str) else None

    def number(self, key: str) -> int | None:
        """Return an integer entry, None when absent or of another type."""
        entry = self.metadata.get(key)
        if entry is None or isinstance(entry.value, bool) or not isinstance(entry.value, int):
            return None
        return entry.value

    def expected_size(self) -> int:
        """Return the bytes the file must have for its last tensor to be whole."""
        return max((tensor.start + tensor.n_bytes for tensor in self.tensors), default=0)


def fault(path: Path, text: str, hint: str = "") -> ModelFileError:
    """Return the error for one fault of one file, as one line."""
    return ModelFileError(f"{path}: {text}.", hint)


def read_header(path: Path) -> GgufHeader:
    """Read and check the header of ``path``; the tensor data's presence is checked by size, not read."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise fault(path, "is a folder, not a model file", "Name one .gguf file in it.")
        if not stat.S_ISREG(status.st_mode):
            raise fault(path, "is not a regular file", "Name a .gguf file.")
        with path.open("rb") as file:
            return _Reader(path, file, status.st_size).read()
    except FileNotFoundError as error:
        raise fault(
            path, "no such file", "Check the path; `skippy-chat models list` shows what is here."
        ) from error
    except OSError as error:
        raise fault(path, f"cannot be read ({error.strerror})") from error


class _Reader:
    """A bounds-checked cursor over the header bytes."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self._path = path
        self._file = file
        self._size = size
        self._limit = min(size, _MAX_HEADER)
        self._position = 0
        self._chunk = b""
        self._chunk_start = 0

    def read(self) -> GgufHeader:
        version = self._magic_and_version()
        n_tensors = self._u64()
        n_entries = self._u64()
        self._check_count(n_tensors, _LEAST_TENSOR, "tensors")
        self._check_count(n_entries, _LEAST_ENTRY, "metadata entries")
        metadata: dict[str, MetaEntry] = {}
        for _ in range(n_entries):
            entry = self._entry()
            if entry.key in metadata:
                raise self._damaged(f"metadata key {entry.key!r} appears twice")
            metadata[entry.key] = entry
        alignment = self._alignment(metadata)
        rows = [self._tensor_row() for _ in range(n_tensors)]
        data_start = _padded(self._position, alignment)
        tensors = self._place(rows, data_start, alignment)
        header = GgufHeader(self._path, version, self._size, alignment, metadata, tensors)
        expected = header.expected_size()
        if expected > self._size:
            raise fault(
                self._path,
                f"is truncated: expected {expected} bytes, has {self._size}",
                "Download or copy it again.",
            )
        return header

    # the file's parts, in order

    def _magic_and_version(self) -> int:
        start = self._peek(512)
        if not start:
            raise fault(self._path, "is empty", "Download or copy it again.")
        if start[:4] != MAGIC:
            what, hint = foreign_format(start)
            raise fault(self._path, f"is not a GGUF file but {what}", hint)
        self._skip(4)
        version = self._u32()
        if version & 0xFFFF == 0:
            raise fault(self._path, "is a big-endian GGUF file", "Get the little-endian one.")
        if version not in VERSIONS:
            raise fault(
                self._path,
                f"has GGUF version {version}; this build reads {VERSIONS[0]} to {VERSIONS[-1]}",
                "Get a newer conversion of the model." if version < VERSIONS[0] else "Update skippy-chat.",
            )
        return version

    def _entry(self) -> MetaEntry:
        key = self._text(_MAX_KEY, "a metadata key")
        if not key:
            raise self._damaged("a metadata key is empty")
        raw_start = self._position
        value_type = self._u32()
        value: Value | None = None
        if value_type == TYPE_STRING:
            value = self._text(_MAX_TEXT, f"the value of {key!r}")
        elif value_type == TYPE_ARRAY:
            self._skip_array(key)
        elif value_type in _SCALARS:
            value = self._scalar(value_type)
        else:
            raise self._damaged(f"metadata key {key!r} has the unknown type {value_type}")
        return MetaEntry(key, value_type, value, raw_start, self._position)

    def _scalar(self, value_type: int) -> Value:
        form = _SCALARS[value_type]
        value: Value = form.unpack(self._take(form.size))[0]
        return value

    def _skip_array(self, key: str) -> None:
        item_type = self._u32()
        count = self._u64()
        if item_type in _SCALARS:
            self._check_count(count, _SCALARS[item_type].size, f"items in {key!r}")
            self._skip(count * _SCALARS[item_type].size)
        elif item_type == TYPE_STRING:
            self._check_count(count, _U64.size, f"strings in {key!r}")
            for _ in range(count):
                self._skip(self._u64())
        else:
            raise self._damaged(f"metadata key {key!r} has an array of the unknown type {item_type}")

    def _alignment(self, metadata: Mapping[str, MetaEntry]) -> int:
        entry = metadata.get("general.alignment")
        if entry is None:
            return DEFAULT_ALIGNMENT
        value = entry.value
        if entry.value_type != TYPE_UINT32 or not isinstance(value, int) or value == 0 or value & (value - 1):
            raise self._damaged("general.alignment is not a power of two")
        return value

    def _tensor_row(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._text(_MAX_TENSOR_NAME, "a tensor name")
        n_dims = self._u32()
        if n_dims > _MAX_DIMS:
            raise self._damaged(f"tensor {name!r} has {n_dims} dimensions")
        shape = tuple(self._u64() for _ in range(n_dims))
        return name, shape, self._u32(), self._u64()

    def _place(
        self, rows: list[tuple[str, tuple[int, ...], int, int]], data_start: int, alignment: int
    ) -> tuple[TensorInfo, ...]:
        """Check every row against its type and against its neighbours: tensors lie end to end, padded."""
        tensors: list[TensorInfo] = []
        names: set[str] = set()
        next_offset = 0
        for name, shape, type_id, offset in rows:
            if name in names:
                raise self._damaged(f"tensor {name!r} appears twice")
            names.add(name)
            tensor_type = TENSOR_TYPES.get(type_id)
            if tensor_type is None:
                raise fault(
                    self._path,
                    f"tensor {name!r} has the type {type_id}, which this build does not know",
                    "Get another quantisation of the model, or update skippy-chat.",
                )
            elements = prod(shape)
            if elements > _MAX_ELEMENTS or max(shape, default=1) > _MAX_ELEMENTS:
                raise self._damaged(f"tensor {name!r} has an impossible shape {shape}")
            if (shape[0] if shape else 1) % tensor_type.block:
                raise self._damaged(f"tensor {name!r} has rows that {tensor_type.name} blocks do not fill")
            if offset != next_offset:
                raise self._damaged(f"tensor {name!r} starts at {offset}, not at {next_offset}")
            n_bytes = elements // tensor_type.block * tensor_type.block_bytes
            tensors.append(TensorInfo(name, shape, type_id, tensor_type, data_start + offset, n_bytes))
            next_offset = _padded(offset + n_bytes, alignment)
        return tuple(tensors)

    # bytes

    def _damaged(self, text: str) -> ModelFileError:
        return fault(self._path, f"has a damaged header: {text}", "Download or copy it again.")

    def _check_count(self, count: int, least: int, what: str) -> None:
        if count * least > self._limit - self._position:
            self._short(f"it promises {count} {what}")

    def _short(self, text: str) -> NoReturn:
        raise fault(
            self._path,
            f"is truncated or damaged inside its header: {text}, but has {self._size} bytes in all",
            "Download or copy it again.",
        )

    def _peek(self, count: int) -> bytes:
        self._file.seek(self._position)
        return self._file.read(count)

    def _skip(self, count: int) -> None:
        if count > self._limit - self._position:
            self._short(f"a value of {count} bytes begins at {self._position}")
        self._position += count

    def _take(self, count: int) -> bytes:
        offset = self._position - self._chunk_start
        if offset + count > len(self._chunk):
            if count > self._limit - self._position:
                self._short(f"a value of {count} bytes begins at {self._position}")
            self._file.seek(self._position)
            self._chunk = self._file.read(max(count, _CHUNK))
            self._chunk_start, offset = self._position, 0
            if len(self._chunk) < count:
                self._short("it became shorter while it was read")
        self._position += count
        return self._chunk[offset : offset + count]

    def _u32(self) -> int:
        value: int = _U32.unpack(self._take(4))[0]
        return value

    def _u64(self) -> int:
        value: int = _U64.unpack(self._take(8))[0]
        return value

    def _text(self, most: int, what: str) -> str:
        count = self._u64()
        if count > self._limit - self._position:
            self._short(f"{what} has {count} bytes")
        if count > most:
            raise self._damaged(f"{what} has {count} bytes")
        try:
            return self._take(count).decode("utf-8")
        except UnicodeDecodeError:
            raise self._damaged(f"{what} is not UTF-8") from None


def _padded(position: int, alignment: int) -> int:
    return (position + alignment - 1) // alignment * alignment
