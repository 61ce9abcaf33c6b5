"""``python -m skippy_chat.demo``: every part is a process of its own, so that nothing can survive in memory.

What is printed are the product's own events; the last line says whether they are what was promised.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skippy_chat.demo.talk import Row, print_table, run_talk, talk_faults
from skippy_chat.demo.tool_loop import LoopStep, loop_faults, print_step, run_tools
from skippy_chat.errors import SkippyError

TALK = {
    "talk": "A conversation over a system prompt of about 1,000 tokens:",
    "again": "That process has ended. A new one goes on, with what is on disk:",
    "cold": "The same three requests with --no-cache, in another process:",
}
TOOLS = {
    "tools": "A folder of notes, and a model that may call tools:",
    "tools-again": "That process has ended, too. A new one goes on with the same session:",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo, or one part of it (``--part``, as a child process)."""
    parser = argparse.ArgumentParser(prog="skippy_chat.demo", description=__doc__)
    parser.add_argument("--part", choices=(*TALK, *TOOLS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args(arguments)
    try:
        if options.part:
            run = run_talk if options.part in TALK else run_tools
            for row in run(options.part, options.folder, options.model, options.threads):
                print(json.dumps(dataclasses.asdict(row)), flush=True)
            return 0
        return _show(options)
    except SkippyError as error:
        print(f"demo: {error}", file=sys.stderr)
        return error.exit_code


def _show(options: argparse.Namespace) -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skippy-chat-demo-") as name:
        faults = [*_show_talk(Path(name), options), *_show_tools(Path(name), options)]
    for fault in faults:
        print(f"NOT as promised: {fault}")
    print(f"\n{'Failed' if faults else 'All as promised'}; the demo took {time.monotonic() - started:.0f} s.")
    return 1 if faults else 0


def _show_talk(folder: Path, options: argparse.Namespace) -> list[str]:
    rows = []
    for data in _children(TALK, folder, options):
        row = Row(**data)
        print(f"  {row.what}\n    {' '.join(row.text.split())}\n", flush=True)
        rows.append(row)
    print_table(rows)
    if all(row.replayed is not False for row in rows):
        print(
            "\nThe changed answer was computed again from scratch, by its ledger: the same ids.\n"
            "Without the cache its words may differ: there the earlier answers are read, here they are as they were\n"
            "generated, and those are other sums (README, 7)."
        )
    return talk_faults(rows)


def _show_tools(folder: Path, options: argparse.Namespace) -> list[str]:
    steps = []
    for data in _children(TOOLS, folder, options):
        step = LoopStep(**data)
        print_step(step)
        sys.stdout.flush()
        steps.append(step)
    if not any(step.calls for step in steps):
        print("This model called no tool here.")
    return loop_faults(steps)


def _children(
    parts: Mapping[str, str], folder: Path, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Run parts one after the other, each under what it says; yields what they give."""
    for part, says in parts.items():
        print(f"\n{says}\n", flush=True)
        yield from _child(part, folder, options)


def _child(part: str, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "skippy_chat.demo", "--part", part, "--folder", str(folder)]
    if options.model:
        command += ["--model", options.model]
    if options.threads:
        command += ["--threads", str(options.threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise SkippyError(
            f"The part {part!r} failed with code {process.returncode}.", "Its message is above."
        )


if __name__ == "__main__":
    sys.exit(main())
