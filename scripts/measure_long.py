"""Measure the app on a session of 300 messages and over 100,000 tokens: until it shows, and a key while text streams.

Run it from the project's folder: ``.venv/bin/python -m scripts.measure_long``. What is compared takes turns, in one
run: an empty session and the long one, in the program itself on the default model, and on a scripted conversation,
which leaves nothing but the app. A figure is the median of the pairs' differences.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from scripts.long_session import LAST, MESSAGES, long_messages, tokens_of
from scripts.measure_app import READY, ROOT, Paced, Terminal
from skippy_chat.cli import main as skippy_chat
from skippy_chat.cli.host import process_host

PROGRAM = (sys.executable, "-m", "skippy_chat")

_KEYS = 60
_PAGE_UP = "\x1b[5~"
_PAGES = 120
_PAINT = re.compile(rb"\x1b\[")


def scripted(folder: Path, *, long: bool, tokens: int = 1) -> Terminal:
    """Start the app on a scripted conversation that answers with so many tokens, 60 a second."""
    asked = ("--child", "long" if long else "empty", str(tokens), str(folder / "report.json"))
    return Terminal(sys.executable, "-m", "scripts.measure_long", *asked)


def child(kind: str, tokens: int, report: Path) -> int:
    """Be the program that ``scripted`` starts."""
    conversation = Paced(tokens, 60.0, 0, report)
    parent = None
    for role, text in long_messages() if kind == "long" else ():
        parent = conversation.add(role, text, parent).id
    return skippy_chat(["--new"], replace(process_host(), open_conversation=lambda **_asked: conversation))


def real(folder: Path, *, long: bool, threads: int) -> Terminal:
    """Start the program itself, on the long session or on a new one."""
    which = ("--resume", "long") if long else ("--new",)
    return Terminal(*PROGRAM, *which, "--threads", str(threads), "--data-dir", str(folder))


def plant(folder: Path) -> None:
    """Import the long session."""
    file = folder / "long.json"
    file.write_text(json.dumps([{"role": role, "content": text} for role, text in long_messages()]))
    subprocess.run(
        [*PROGRAM, "sessions", "import", str(file), "--title", "long", "--data-dir", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


def opening(start: Callable[[bool], Terminal], pairs: int) -> dict[str, Any]:
    """Time from the program's start until it can be used and the session's end shows, the order changing.

    The processor's time of the app's own process is taken, too: other programs hardly change that.
    """
    seconds: dict[bool, list[float]] = {False: [], True: []}
    worked: dict[bool, list[float]] = {False: [], True: []}
    for number in range(pairs):
        for long in (number % 2 == 0, number % 2 == 1):
            terminal = start(long)
            seconds[long].append(terminal.wait_for(LAST.encode() if long else READY))
            worked[long].append(processor_seconds(terminal.process.pid))
            terminal.end()
    beyond = [full - empty for empty, full in zip(seconds[False], seconds[True], strict=True)]
    busy = [full - empty for empty, full in zip(worked[False], worked[True], strict=True)]
    return {
        "empty_seconds": round(statistics.median(seconds[False]), 3),
        "long_seconds": round(statistics.median(seconds[True]), 3),
        "beyond_empty_ms": round(1000 * statistics.median(beyond)),
        "each_ms": [round(1000 * each) for each in beyond],
        "processor_beyond_empty_ms": round(1000 * statistics.median(busy)),
    }


def processor_seconds(pid: int) -> float:
    """Return how long a process has computed; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def keys(
    terminal: Terminal, *, shown: bytes | re.Pattern[bytes], streaming: bool, pages: int = 0
) -> dict[str, Any]:
    """Time from a key to its paint, once ``shown`` stands there, and so many pages above the end."""
    terminal.wait_for(shown)
    time.sleep(1)  # a person reads before typing
    if streaming:
        terminal.type("go\r")
        terminal.wait_for(b"writing")
    for _ in range(pages):
        terminal.type(_PAGE_UP)
        time.sleep(0.1)
    time.sleep(1 if pages else 0)
    waits = []
    for number in range(_KEYS):
        time.sleep(0.11 + 0.007 * (number % 13))  # at all phases of the drain
        key = "QXZJ"[number % 4]
        terminal.type(key)
        waits.append(1000 * terminal.wait_for(key.encode()))
    terminal.end()
    return _summed(waits)


def paging(terminal: Terminal) -> dict[str, Any]:
    """Time from Page-Up to what it paints, from the end of the long session to near its beginning."""
    terminal.wait_for(LAST.encode())
    time.sleep(1)
    waits = []
    for _ in range(_PAGES):
        time.sleep(0.25)
        terminal.drain()
        terminal.type(_PAGE_UP)
        waits.append(1000 * terminal.wait_for(_PAINT))
    terminal.end()
    return _summed(waits)


def _summed(waits: list[float]) -> dict[str, Any]:
    waits.sort()
    return {
        "median_ms": round(statistics.median(waits), 1),
        "p95_ms": round(waits[len(waits) * 95 // 100], 1),
        "worst_ms": round(waits[-1], 1),
    }


def main() -> int:
    """Measure everything and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=["scripted", "real", "keys", "scrolled", "paging"])
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, tokens, report = options.child
        return child(kind, int(tokens), Path(report))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update({f"SKIPPY_{each}_DIR": str(folder / each.lower()) for each in ("DATA", "CONFIG")})
        stored = folder / "stored"
        stored.mkdir(mode=0o700)
        plant(stored)
        steps: dict[str, Callable[[], dict[str, Any]]] = {
            "scripted": lambda: opening(lambda long: scripted(folder, long=long), options.pairs),
            "real": lambda: opening(
                lambda long: real(stored, long=long, threads=options.threads), options.pairs
            ),
            "keys": lambda: {
                f"{'long' if long else 'empty'}, {'60 tokens/s' if streaming else 'idle'}": keys(
                    scripted(folder, long=long, tokens=3000 if streaming else 1),
                    shown=LAST.encode() if long else READY,
                    streaming=streaming,
                )
                for long in (False, True)
                for streaming in (False, True)
            },
            "scrolled": lambda: keys(
                scripted(folder, long=True, tokens=3000), shown=LAST.encode(), streaming=True, pages=80
            ),
            "paging": lambda: paging(scripted(folder, long=True)),
        }
        found = {what: step() for what, step in steps.items() if options.only in (None, what)}
    print(json.dumps({"messages": MESSAGES, "tokens": tokens_of(long_messages()), **found}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
