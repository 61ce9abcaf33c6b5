"""Taking a session out: as Markdown or HTML for people, or as JSON that can be imported again.

Faces and scripts use this; it asks nobody and writes nowhere. Invariant: whatever a conversation holds, the text that
comes out can be shown by a terminal as it is.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal, TypeAlias, get_args

from skippy_chat.chat.export_json import json_export
from skippy_chat.chat.trees import OnProgress, SessionTree

ExportFormat: TypeAlias = Literal["md", "json", "html"]
FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_SUFFIXES: dict[str, ExportFormat] = {
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}
_NAME_ROOM = 60


def export_text(tree: SessionTree, form: ExportFormat, on_progress: OnProgress | None = None) -> str:
    """Return a session, with the branches that are in ``tree``, as the text of a file.

    ``on_progress`` gets messages (done, total), but for JSON, which takes no time.
    """
    if form == "json":
        return json_export(tree)
    # A Markdown parser is in both, and JSON does without.
    if form == "html":
        from skippy_chat.chat.export_html import html_export  # noqa: PLC0415

        return html_export(tree, on_progress)
    from skippy_chat.chat.export_markdown import markdown_export  # noqa: PLC0415

    return markdown_export(tree, on_progress)


def format_of(path: PurePath) -> ExportFormat | None:
    """Return the format that a file's name ends in."""
    return _SUFFIXES.get(path.suffix.lower())


def file_name(name: str, form: ExportFormat) -> str:
    """Return a name for the file of a session of that name, which stays in its folder and is no option."""
    words = re.sub(r"[^\w.-]+", "-", name)[:_NAME_ROOM].strip("-.")
    return f"{words or 'session'}.{form}"
