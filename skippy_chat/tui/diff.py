"""A unified diff as lines: colours from the theme, and signs that say the same without them."""

from __future__ import annotations

from textual.content import Content

from skippy_chat.tui.flow import Line, Text

# By how a line begins; the first that fits counts.
_STYLES = (
    ("+++", "dim"),
    ("---", "dim"),
    ("@@", "$text-accent"),
    ("+", "$text-success"),
    ("-", "$text-error"),
    ("\\", "dim"),
)


def diff_lines(clean: str, indent: Content) -> list[Line]:
    """Return the lines of a diff that is safe to show; every space of it is kept."""
    text = clean.removesuffix("\n")
    return [_line(each, indent) for each in text.split("\n")] if text else []


def counted(diff: str) -> str:
    """Return how much a diff adds and takes away: ``+3 -1``."""
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    taken = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return f"+{added} -{taken}"


def _line(line: str, indent: Content) -> Text:
    style = next((style for start, style in _STYLES if line.startswith(start)), "")
    return Text(Content.styled(line, style) if style else Content(line), indent, indent, folded=True)
