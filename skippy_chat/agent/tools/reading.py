"""``read_file``: a text file, or some of its lines, as they are.

Text comes raw, without line numbers, so that ``edit_file`` finds what was read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.gate import OpenFile
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.errors import ToolError

_SNIFFED = 8192
_PIECE = 1 << 20


class ReadFile(BuiltIn):
    """Reads text files of the workspace."""

    name: ClassVar[str] = "read_file"
    needs: ClassVar[Needs] = Needs(reads=("path",))

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Return the text; of a long one head and tail, with a line that says how to get the rest."""
        first, last = arguments.get("first_line"), arguments.get("last_line")
        if first is not None and last is not None and last < first:
            raise ToolError(f"last_line ({last}) comes before first_line ({first}).")
        with context.gate.open_file(arguments["path"]) as file:
            _refuse_binary(file)
            if first is None and last is None:
                return ToolResult("ok", _whole(file, context))
            return ToolResult("ok", _lines(file, first or 1, last, context))


def _whole(file: OpenFile, context: ToolContext) -> str:
    limit = context.limits.output_bytes
    size = file.info.st_size
    if size == 0 and not os.pread(file.fd, 1, 0):
        return "(The file is empty.)"
    if size <= limit:
        return _decode(os.pread(file.fd, limit, 0))
    head = os.pread(file.fd, limit // 2, 0)
    head = head[: head.rfind(b"\n") + 1] or head
    tail = os.pread(file.fd, limit // 2, size - limit // 2)
    tail = tail[tail.find(b"\n") + 1 :] or tail
    left_out = size - len(head) - len(tail)
    return (
        f"{_decode(head)}\n[… {left_out:,} of {size:,} bytes left out; "
        f"read the rest with first_line and last_line …]\n{_decode(tail)}"
    )


def _lines(file: OpenFile, first: int, last: int | None, context: ToolContext) -> str:
    kept = bytearray()
    number = 0
    for number, line in enumerate(_each_line(file, context), 1):
        if last is not None and number > last:
            break
        if number < first:
            continue
        if len(kept) + len(line) > context.limits.output_bytes:
            room = context.limits.output_bytes - len(kept)
            kept += line[:room] if not kept else b""
            return f"{_decode(bytes(kept))}\n[… cut at line {number}; go on with first_line {number} …]"
        kept += line
    if not kept:
        raise ToolError(f"The file has {number} lines; line {first} is not there.")
    return _decode(bytes(kept))


def _each_line(file: OpenFile, context: ToolContext) -> Iterator[bytes]:
    """Yield lines with their ends; a line longer than one output comes in pieces that long, then it is cut anyway."""
    read = 0
    with os.fdopen(os.dup(file.fd), "rb", buffering=_PIECE) as lines:
        lines.seek(0)
        while line := lines.readline(context.limits.file_bytes):
            read += len(line)
            if context.cancel.is_set():
                raise ToolError("Cancelled.")
            if read > 64 * context.limits.file_bytes:
                raise ToolError("The file is too large to look for lines so far down.")
            yield line


def _refuse_binary(file: OpenFile) -> None:
    start = os.pread(file.fd, _SNIFFED, 0)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ToolError(f"{file.place.relative} is UTF-16, not UTF-8; it cannot be read as it is.")
    if b"\0" in start:
        raise ToolError(f"{file.place.relative} is a binary file of {file.info.st_size:,} bytes, not text.")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
