"""Files of one JSON value a line that a kill may cut anywhere: what was cut is written again, and spoils nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a file; none when there is no such file."""
    if not path.exists():
        return []
    values = [_value(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [value for value in values if value is not None]


def append_line(path: Path, value: dict[str, Any]) -> None:
    """Add a line, behind the end of one that was cut."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")


def _value(line: str) -> dict[str, Any] | None:
    try:
        value: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return value
