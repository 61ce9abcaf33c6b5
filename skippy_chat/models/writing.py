"""Writes a GGUF file, whole or not at all, byte for byte the same for the same parts.

Invariant: the name never shows a partial file. Own code, because the file's digest is a constant of this
project and must not move with the version of a package that lays out headers.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from skippy_chat.errors import ModelFileError
from skippy_chat.models.header import DEFAULT_ALIGNMENT, MAGIC, TYPE_STRING, TYPE_UINT32

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, done, total); the numbers are bytes, total 0 when it is not known."""

PART_SUFFIX = ".part"
_VERSION = 3


@dataclass(frozen=True, slots=True)
class NewTensor:
    """A tensor to write; ``shape`` is innermost first, ``load`` gives its ``n_bytes`` bytes when due."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    n_bytes: int
    load: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is durably on disk; ``size`` is bytes."""

    path: Path
    size: int
    sha256: str


def text_entry(key: str, value: str) -> bytes:
    """Return a string metadata entry as file bytes."""
    return entry(key, struct.pack("<I", TYPE_STRING) + _text(value))


def number_entry(key: str, value: int) -> bytes:
    """Return an unsigned 32-bit metadata entry as file bytes."""
    return entry(key, struct.pack("<II", TYPE_UINT32, value))


def entry(key: str, raw: bytes) -> bytes:
    """Return a metadata entry as file bytes; ``raw`` is its type tag and value as they stand in a file."""
    return _text(key) + raw


def write_gguf(
    path: Path,
    entries: Sequence[bytes],
    tensors: Sequence[NewTensor],
    *,
    progress: Progress,
    alignment: int = DEFAULT_ALIGNMENT,
) -> Written:
    """Write a model file to ``path``; an existing file is replaced when the new one is durable."""
    header = _header(entries, tensors, alignment)
    total = len(header) + sum(_padded(tensor.n_bytes, alignment) for tensor in tensors)
    digest = hashlib.sha256()
    done = 0
    with replacing(path) as file:
        for part in _parts(header, tensors, alignment):
            file.write(part)
            digest.update(part)
            done += len(part)
            progress(f"writing {path.name}", done, total)
    return Written(path, done, digest.hexdigest())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write that takes the place of ``path`` when the block ends well, and vanishes otherwise.

    Raises ModelFileError when the folder cannot be written or is full.
    """
    # one writer at a time holds the folder's lock, and a killed one's leftovers are swept by the next
    part = path.with_name(f".{path.name}.{os.getpid()}{PART_SUFFIX}")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be written ({error.strerror}).",
            "Free some space or give another folder with --cache-dir.",
        ) from error
    finally:
        with suppress(OSError):  # gone already, or its folder is no folder
            part.unlink()


def _header(entries: Sequence[bytes], tensors: Sequence[NewTensor], alignment: int) -> bytes:
    parts = [MAGIC, struct.pack("<IQQ", _VERSION, len(tensors), len(entries)), *entries]
    offset = 0
    for tensor in tensors:
        parts.append(_text(tensor.name))
        parts.append(struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape))
        parts.append(struct.pack("<IQ", tensor.type_id, offset))
        offset += _padded(tensor.n_bytes, alignment)
    header = b"".join(parts)
    return header.ljust(_padded(len(header), alignment), b"\0")


def _parts(header: bytes, tensors: Sequence[NewTensor], alignment: int) -> Iterator[bytes]:
    yield header
    for tensor in tensors:
        data = tensor.load()
        if len(data) != tensor.n_bytes:
            raise ValueError(f"tensor {tensor.name!r} has {len(data)} bytes, not {tensor.n_bytes}")
        yield data
        yield b"\0" * (_padded(tensor.n_bytes, alignment) - tensor.n_bytes)


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _padded(size: int, alignment: int) -> int:
    return (size + alignment - 1) // alignment * alignment


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there, and a rename is durable without
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
