"""``write_file`` and ``edit_file``: whole files, atomically, with a diff for people and a before-image for undo."""

from __future__ import annotations

import difflib
from typing import ClassVar

from skippy_chat.agent.tools.alike import lines_like
from skippy_chat.agent.tools.atomic import read_whole, replace_file
from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.gate import OpenParent
from skippy_chat.agent.tools.near import meant
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.errors import ToolError

# Comparing takes time that grows with the square of the lines; above this, the whole old and new text is shown.
_MOST_COMPARED = 5000


class WriteFile(BuiltIn):
    """Writes whole files."""

    name: ClassVar[str] = "write_file"
    read_only: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(writes=("path",))

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Write the file, and its folders where they are missing."""
        data = _encode(arguments["content"], context)
        with context.gate.open_parent(arguments["path"], make=True) as parent:
            before = _before(parent, context)
            _replace(parent, before, data, context)
            name = parent.place.relative
        lines = len(arguments["content"].splitlines())
        told = f"{'Wrote' if before is None else 'Replaced'} {name}: {lines} lines, {len(data):,} bytes."
        return ToolResult("ok", told, more=unified_diff(name, before, data))

    def preview(self, arguments: Arguments, context: ToolContext) -> str:
        """Return what would change."""
        data = _encode(arguments["content"], context)
        place = context.gate.locate(arguments["path"])
        before = None
        if place.exists:
            with context.gate.open_parent(arguments["path"]) as parent:
                before = _before(parent, context)
        return unified_diff(place.relative, before, data)


class EditFile(BuiltIn):
    """Replaces a text that is in a file exactly once."""

    name: ClassVar[str] = "edit_file"
    read_only: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(writes=("path",))

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Replace it."""
        with context.gate.open_parent(arguments["path"]) as parent:
            before, after = _edited(parent, arguments, context)
            _replace(parent, before, after, context)
            name = parent.place.relative
        line = before[: _only(before, arguments["old_text"].encode(), name)].count(b"\n") + 1
        return ToolResult("ok", f"Edited {name} at line {line}.", more=unified_diff(name, before, after))

    def preview(self, arguments: Arguments, context: ToolContext) -> str:
        """Return what would change."""
        with context.gate.open_parent(arguments["path"]) as parent:
            before, after = _edited(parent, arguments, context)
            return unified_diff(parent.place.relative, before, after)


def unified_diff(name: str, before: bytes | None, after: bytes) -> str:
    """Return a unified diff of two contents; ``before`` is None for a new file."""
    if before == after:
        return ""
    old = _lines(before or b"")
    new = _lines(after)
    labels = ("/dev/null" if before is None else f"a/{name}", f"b/{name}")
    if len(old) + len(new) <= _MOST_COMPARED:
        lines = list(difflib.unified_diff(old, new, *labels, lineterm=""))
    else:
        lines = [f"--- {labels[0]}", f"+++ {labels[1]}", f"@@ -1,{len(old)} +1,{len(new)} @@"]
        lines += [f"-{each}" for each in old] + [f"+{each}" for each in new]
    return "\n".join(lines)


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
    else:
        lines.pop()
    return lines


def _encode(content: str, context: ToolContext) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The text holds half a character at {error.start}; nothing was written.") from error
    if len(data) > context.limits.file_bytes:
        raise ToolError(f"The text is larger than {context.limits.file_bytes:,} bytes; nothing was written.")
    return data


def _before(parent: OpenParent, context: ToolContext) -> bytes | None:
    return None if parent.info is None else read_whole(parent, context.limits.file_bytes)


def _edited(parent: OpenParent, arguments: Arguments, context: ToolContext) -> tuple[bytes, bytes]:
    name = parent.place.relative
    if parent.info is None:
        above = parent.place.parts[:-1]
        with context.gate.open_folder(".") as top:
            hint = meant(parent.name, parent.fd, "write_file makes new files.", above=above, top=(top.fd, ()))
        raise ToolError(f"There is no file {name}.", hint)
    before = read_whole(parent, context.limits.file_bytes)
    old, new = _encode(arguments["old_text"], context), _encode(arguments["new_text"], context)
    if not old:
        raise ToolError("old_text is empty.", "Give the text to replace; write_file writes whole files.")
    if old == new:
        raise ToolError("old_text and new_text are the same; nothing would change.")
    at = _only(before, old, name)
    return before, before[:at] + new + before[at + len(old) :]


def _only(text: bytes, wanted: bytes, name: str) -> int:
    """Return where ``wanted`` is, when that is one place (places that overlap are two)."""
    at = text.find(wanted)
    if at < 0:
        raise ToolError(f"old_text is not in {name}.", _mend(text, wanted))
    if text.find(wanted, at + 1) >= 0:
        raise ToolError(f"old_text is in {name} more than once.", "Give more of the text around it.")
    return at


def _mend(text: bytes, wanted: bytes) -> str:
    """Return what may help: where something like it is. Never what is there: nobody allowed this call to read."""
    if b"\r\n" in text and b"\n" in wanted and b"\r\n" not in wanted:
        return "The file's lines end in \\r\\n; write old_text so."
    mend = "Read the file, and copy the text exactly, spaces and line ends too."
    found = lines_like(text.decode("utf-8", "replace"), wanted.decode())
    if found is None:
        return mend
    lines, spaces = found
    place = f"Line {lines[0]} is" if len(lines) == 1 else f"Lines {lines[0]} to {lines[-1]} are"
    return f"{place} {'the same but for spaces' if spaces else 'close to it'}. {mend}"


def _replace(parent: OpenParent, before: bytes | None, after: bytes, context: ToolContext) -> None:
    if before == after:
        return
    if context.journal is not None:
        context.journal.record(parent, before, after, root=context.workspace)
    replace_file(parent, after)
