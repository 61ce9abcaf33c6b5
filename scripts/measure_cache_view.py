"""Measure the cache view of a tree of thousands of checkpoints: until it shows, and a key to its paint.

Run it from the project's folder: ``.venv/bin/python -m scripts.measure_cache_view``. The tree is made up, the
program and the terminal are real.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from scripts.measure_app import Terminal
from skippy_chat.cli import main as skippy_chat
from skippy_chat.cli.host import process_host
from tests.tui.kept import long, session_of

KEYS = 40
_TREE, _HOME, _END = "\x14", "\x1b[H", "\x1b[F"
_DOWN, _UP, _PAGE_DOWN, _PAGE_UP = "\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[5~"
_ROW = re.compile(rb"tokens [\d,]+ to [\d,]+")


def child(messages: int) -> int:
    """Be the program, on a session of so many messages."""
    conversation = session_of(long(messages))
    return skippy_chat(["--new"], replace(process_host(), open_conversation=lambda **_asked: conversation))


def measure(messages: int) -> dict[str, float]:
    """Open the view, and move in it."""
    asked = ("--child", str(messages))
    terminal = Terminal(sys.executable, "-m", "scripts.measure_cache_view", *asked)
    terminal.wait_for(f"message {messages - 1}".encode())
    terminal.type(_TREE)
    found = {"checkpoints": float(len(long(messages).tree.nodes)), "shows_ms": 1000 * terminal.wait_for(_ROW)}
    for name, steps in (("row", (_DOWN, _UP)), ("page", (_PAGE_DOWN, _PAGE_UP))):
        for edge in (_END, _HOME) if name == "page" else (_HOME,):  # from the end, where it begins
            terminal.type(edge)
            terminal.wait_for(_ROW)
        waits = []
        for number in range(KEYS):
            terminal.type(steps[number % 2])
            waits.append(1000 * terminal.wait_for(_ROW))
        waits.sort()
        found |= {f"{name}_median_ms": statistics.median(waits), f"{name}_worst_ms": waits[-1]}
    terminal.end()
    return {name: round(value, 1) for name, value in found.items()}


def main() -> int:
    """Measure a small tree and a large one, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            {f"SKIPPY_{each}_DIR": str(Path(folder) / each.lower()) for each in ("DATA", "CONFIG")}
        )
        print(json.dumps({f"{count} messages": measure(count) for count in (20, 1000)}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
