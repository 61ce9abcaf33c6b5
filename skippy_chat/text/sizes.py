"""Byte counts as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
_UNITS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}
_UNITS |= {letter: 1024**power for power, letter in enumerate("kmgt", 1)}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")


def parse_size(text: str) -> int:
    """Read "2GiB", "500 MB" or "1048576" as bytes; a letter alone ("2G") counts in 1024s.

    Raises:
        ValueError: it is not a size.
    """
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"not a size: {text!r}")
    return round(float(match[1]) * _UNITS[match[2]]) if "." in match[1] else int(match[1]) * _UNITS[match[2]]


def format_size(count: int) -> str:
    """Write bytes with three digits or so: "1.5 GiB"."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or abs(value) >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
