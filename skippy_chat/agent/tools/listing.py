"""``list_directory``: the names in a folder, sorted, folders with a slash, links as links."""

from __future__ import annotations

import os
import stat
from typing import ClassVar

from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.text.sizes import format_size

_MOST = 1000


class ListDirectory(BuiltIn):
    """Lists folders of the workspace."""

    name: ClassVar[str] = "list_directory"
    needs: ClassVar[Needs] = Needs(reads=("path",))

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Return one line per entry."""
        with context.gate.open_folder(arguments.get("path", ".")) as folder:
            names = sorted(os.listdir(folder.fd))  # noqa: PTH208  pathlib knows no descriptors
            lines = [_line(name, folder.fd) for name in names[:_MOST]]
        if not lines:
            return ToolResult("ok", "(The folder is empty.)")
        if len(names) > _MOST:
            lines.append(f"[… {len(names) - _MOST:,} more of {len(names):,} entries left out …]")
        return ToolResult("ok", "\n".join(lines))


def shown_name(name: str) -> str:
    """Return a name on one line: with a newline in it, it would look like two."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)


def _line(name: str, folder: int) -> str:
    shown = shown_name(name)
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return f"{shown} (cannot be looked at)"
    if stat.S_ISDIR(info.st_mode):
        return f"{shown}/"
    if stat.S_ISLNK(info.st_mode):
        return f"{shown} (a link)"
    if not stat.S_ISREG(info.st_mode):
        return f"{shown} (no file)"
    return f"{shown} ({format_size(info.st_size)})"
