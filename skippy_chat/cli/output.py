"""What commands print on standard output: JSON, or lines whose every part was cleaned.

Invariant: titles, paths and messages are foreign text; none reaches the terminal but through here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from skippy_chat.cli.host import Host
from skippy_chat.errors import UsageError
from skippy_chat.talk import one_line
from skippy_chat.text.json_text import json_line
from skippy_chat.text.sanitise import sanitise


def put_json(host: Host, value: Any) -> None:
    """Print a value as indented JSON."""
    host.stdout.write(json_line(value, host.stdout, indent=2))


def put(host: Host, text: str) -> None:
    """Print a text and its line break."""
    host.stdout.write(f"{sanitise(text)}\n")


def put_table(host: Host, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a head, columns aligned; the last column runs free."""
    cells = [head, *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head) - 1)]
    for row in cells:
        fixed = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        host.stdout.write("  ".join([*fixed, row[-1]]).rstrip() + "\n")


def when(milliseconds: int) -> str:
    """Return a moment (milliseconds since the epoch) in local time, to the minute."""
    return dt.datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


def confirm(host: Host, question: str, *, yes: bool) -> bool:
    """Ask a yes-or-no question on the terminal; ``yes`` answers it beforehand.

    Raises:
        UsageError: there is no terminal to ask on.
    """
    if yes:
        return True
    if not host.interactive:
        raise UsageError("This asks first, and there is no terminal to ask on.", "Give --yes.")
    host.talk.ask(f"{question} [y/N]")
    return host.stdin.readline().strip().lower() in {"y", "yes"}
