"""``search_files``: lines that match a regular expression, by ripgrep where it is installed.

Both ways read files relative to a folder the gate opened, follow no links, and skip the same folders, so that answers
differ by machine only where the two kinds of pattern do.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.environment import for_commands
from skippy_chat.agent.tools.listing import shown_name
from skippy_chat.agent.tools.process import Ended, Program, run_program
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.errors import ToolError

SKIPPED = (".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules")
_MOST_MATCHES = 1000
_MOST_BYTES = 8 << 20  # of raw matches
_LONGEST_LINE = 500  # characters of a match that are shown
# A path may hold newlines; a line of a file does not.
_MATCH = re.compile(rb"([^\0]*)\0([^\n]*)(?:\n|\Z)")
_SEARCHER = Path(__file__).with_name("searcher.py")


class SearchFiles(BuiltIn):
    """Searches the workspace."""

    name: ClassVar[str] = "search_files"
    needs: ClassVar[Needs] = Needs(reads=("path",), below=True)

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Return matches as ``path:line: text``."""
        pattern, path = arguments["pattern"], arguments.get("path", ".")
        if "\0" in pattern or not _encodable(pattern):
            raise ToolError("The pattern holds characters that cannot be searched for.")
        place = context.gate.locate(path)
        output = bytearray()

        def take(data: bytes) -> bool:
            output.extend(data)
            return len(output) <= _MOST_BYTES

        with ExitStack() as stack:
            if place.exists and _is_folder(path, context):
                folder, stdin = stack.enter_context(context.gate.open_folder(path)).fd, None
            else:
                folder = stack.enter_context(context.gate.open_folder(".")).fd
                stdin = stack.enter_context(context.gate.open_file(path)).fd
            program = Program(
                _argv(pattern, context, whole_folder=stdin is None),
                folder,
                for_commands(context.environment),
                context.limits.search_seconds,
                context.limits.memory_bytes,
                stdin,
            )
            ended = run_program(program, take, context.cancel)
        return _result(ended, bytes(output), place.relative, context, whole_folder=stdin is None)


def _is_folder(path: str, context: ToolContext) -> bool:
    try:
        with context.gate.open_folder(path):
            return True
    except ToolError:
        return False


def _argv(pattern: str, context: ToolContext, *, whole_folder: bool) -> list[str]:
    most = context.limits.file_bytes
    where = "." if whole_folder else "-"
    ripgrep = shutil.which("rg", path=context.environment.get("PATH"))
    if ripgrep is None:
        return [sys.executable, "-I", "-S", str(_SEARCHER), pattern, where, str(most), *SKIPPED]
    skip = [each for name in SKIPPED for each in ("--glob", f"!**/{name}/**")]
    return [
        ripgrep, "--no-config", "--no-messages", "--no-ignore", "--hidden", "--sort", "path", "--color", "never",
        "--no-heading", "--with-filename", "--line-number", "--null", "--max-filesize", str(most), *skip,
        "--regexp", pattern, "--", where,
    ]  # fmt: skip


def _result(
    ended: Ended, output: bytes, place: str, context: ToolContext, *, whole_folder: bool
) -> ToolResult:
    if ended.how == "cancelled":
        raise ToolError("The search was cancelled.")
    if ended.how == "failed":
        raise ToolError(f"The search could not run: {ended.detail}.")
    matches = _MATCH.findall(output)
    if ended.how == "exit" and ended.code > 1 and not matches:
        told = output.decode("utf-8", "replace").strip()[:1000]
        raise ToolError(f"The search failed: {told or f'exit code {ended.code}'}")
    base = "" if place == "." else f"{place}/"
    lines = [_line(each, base if whole_folder else place, whole_folder=whole_folder) for each in matches]
    shown = lines[:_MOST_MATCHES]
    if len(lines) > len(shown):
        shown.append(f"[… more than {_MOST_MATCHES:,} matches; narrow the pattern or the path …]")
    if ended.how == "timeout":
        shown.append(
            f"[… stopped after {context.limits.search_seconds:g} seconds; the pattern may be too costly …]"
        )
        return ToolResult("ok" if matches else "error", "\n".join(shown))
    return ToolResult("ok", "\n".join(shown) or "No line matches.")


def _line(match: tuple[bytes, bytes], base: str, *, whole_folder: bool) -> str:
    path, rest = match
    number, _, text = rest.decode("utf-8", "replace").rstrip("\r").partition(":")
    name = shown_name(os.fsdecode(path).removeprefix("./")) if whole_folder else ""
    if len(text) > _LONGEST_LINE:
        text = f"{text[:_LONGEST_LINE]} […]"
    return f"{base}{name}:{number}: {text}"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
