"""native_log: nothing that native code wrote in this run tells of a broken state."""

from __future__ import annotations

import re

from skippy_chat.gate.ground import Ground
from skippy_chat.gate.values import Sheet

BAD_WORDS = (
    "failed to find a memory slot",
    "decode failed",
    "failed to decode",
    "non-consecutive token position",
    "inconsistent sequence positions",
    "failed to restore",
    "not enough cells",
    "invalid seq_id",
    "GGML_ASSERT",
    "non-finite",
)
_NOT_A_NUMBER = re.compile(
    r"logits?\b.*\b[-+]?(?:nan|inf)\b|\b[-+]?(?:nan|inf)\b.*\blogits?\b", re.IGNORECASE
)


def native_log(ground: Ground, sheet: Sheet) -> None:
    """Look through every line that any worker wrote since the start."""
    lines = [
        (path.name, line)
        for path in sorted(ground.logs.glob("*.log*"))
        if path.suffix != ".lock"
        for line in path.read_text("utf-8", "replace").splitlines()
    ]
    # A model that loads always says something: silence would mean that nobody listened.
    sheet.holds("native lines were kept", lines, expected="some", found=f"{len(lines):,}")
    for word in BAD_WORDS:
        _none(sheet, word, [f"{name}: {line}" for name, line in lines if word.lower() in line.lower()])
    _none(
        sheet,
        "logits that are no numbers",
        [f"{n}: {line}" for n, line in lines if _NOT_A_NUMBER.search(line)],
    )
    sheet.summary = f"{len(lines):,} lines"


def _none(sheet: Sheet, word: str, hits: list[str]) -> None:
    sheet.holds(
        word, not hits, expected="no line", found=f"{len(hits)}: {hits[0][:200]}" if hits else "no line"
    )
