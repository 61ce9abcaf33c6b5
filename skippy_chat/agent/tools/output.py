"""Keeping long output out of the context: head and tail for the model, the whole in a file that the text names.

Invariant: what a model gets is at most the limit and a line that says what was left out; nothing is lost unless that
line says so.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Kept:
    """Output as the model sees it, and the file with all of it, where it was too long."""

    text: str
    spilled: Path | None


class OutputKeeper:
    """Takes output in pieces; holds no more of it in memory than the limit."""

    def __init__(self, folder: Path, name: str, limit: int) -> None:
        """``limit`` is in bytes; a file is made in ``folder`` only when more comes, named after ``name``."""
        self._folder = folder
        self._name = _NAME.sub("_", name)[:40] or "output"
        self._half = max(limit // 2, 1)
        self._limit = max(limit, 2)
        self._start = bytearray()  # everything, until it is too long; then the head
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._complete = True
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take more output."""
        was = self.total
        self.total += len(data)
        if self.total <= self._limit:
            self._start += data
            return
        if was <= self._limit:
            self._open()
            self._write(bytes(self._start))
            self._tail += self._start[self._half :]
            del self._start[self._half :]
            # A first piece may itself be longer than the head.
            missing = self._half - len(self._start)
            if missing > 0:
                self._start += data[:missing]
                self._tail += data[missing:]
            else:
                self._tail += data
        else:
            self._tail += data
        self._write(data)
        del self._tail[: -self._half]

    def finish(self) -> Kept:
        """Close the file and return what to show; call it once."""
        if self.total <= self._limit:
            return Kept(self._start.decode("utf-8", "replace"), None)
        if self._file is not None:
            try:
                self._file.close()
            except OSError:
                self._complete = False
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._start))
        tail = _from_a_character(bytes(self._tail)).decode("utf-8", "replace")
        left_out = self.total - len(self._start) - len(self._tail)
        if self._path is None:
            where = "the rest could not be kept"
        elif self._complete:
            where = f"all of it is in {self._path}"
        else:
            where = f"part of it is in {self._path}; the disk took no more"
        return Kept(f"{head}\n[… {left_out:,} bytes left out; {where} …]\n{tail}", self._path)

    def _open(self) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path in _names(self._folder, self._name):
                with contextlib.suppress(FileExistsError):
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                    self._file = os.fdopen(os.open(path, flags, 0o600), "wb")
                    self._path = path
                    return

    def _write(self, data: bytes) -> None:
        if self._file is None or not self._complete:
            return
        try:
            self._file.write(data)
        except OSError:
            self._complete = False


def keep(text: str, folder: Path, name: str, limit: int) -> Kept:
    """Shorten a finished text; characters that UTF-8 does not have become U+FFFD."""
    keeper = OutputKeeper(folder, name, limit)
    keeper.add(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode())
    return keeper.finish()


def _from_a_character(data: bytes) -> bytes:
    """Drop the end of a character that begins before ``data``."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _names(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}.txt"
    number = 1
    while True:
        yield folder / f"{name}-{number}.txt"
        number += 1
