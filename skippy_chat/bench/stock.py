"""The programs that are compared with: llama-server and llama-bench of the pinned source, built without our patches."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.errors import SkippyError

NOTE = "skippy-peers.txt"
"""The file in a virtual environment that says where they are; the set-up command writes it."""

_PATIENCE = 3600
_ENDING = ".exe" if sys.platform == "win32" else ""


class PeersMissing(SkippyError):
    """The stock programs are not built."""

    code = "peers_missing"


@dataclass(frozen=True, slots=True)
class Stock:
    """Where the stock programs are."""

    folder: Path

    @classmethod
    def find(cls, given: Path | None, prefix: Path) -> Stock:
        """Return the programs in ``given``, else those that were built for the virtual environment at ``prefix``.

        Raises:
            PeersMissing: they are not there.
        """
        folder = given
        if folder is None:
            try:
                folder = Path((prefix / NOTE).read_text(encoding="utf-8").strip())
            except OSError:
                raise PeersMissing(
                    "llama-server and llama-bench are not built.", "Build them: make peers"
                ) from None
        found = cls(folder)
        for program in (found.server, found.bench):
            if not program.is_file():
                raise PeersMissing(f"{program} is not there.", "Build it: make peers")
        return found

    @property
    def server(self) -> Path:
        """llama-server."""
        return self.folder / f"llama-server{_ENDING}"

    @property
    def bench(self) -> Path:
        """llama-bench."""
        return self.folder / f"llama-bench{_ENDING}"


def run_llama_bench(command: Sequence[str]) -> list[dict[str, Any]]:
    """Run llama-bench once and return its results, one for each test.

    Raises:
        SkippyError: it failed, with the last line it wrote.
    """
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False
    )
    if done.returncode != 0:
        words = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        raise SkippyError(f"llama-bench ended with {done.returncode}: {words}")
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def llama_bench_command(
    stock: Stock,
    model: Path,
    *,
    threads: int,
    ubatch: int,
    prompt: int = 0,
    generate: int = 0,
    depth: int = 0,
) -> list[str]:
    """Return the command line of one test: flash attention on, all on the CPU, one repetition after a warm-up."""
    words = [
        str(stock.bench),
        "-m",
        str(model),
        "-t",
        str(threads),
        "-ub",
        str(ubatch),
        "-fa",
        "on",
        "-ngl",
        "0",
    ]
    words += ["-p", str(prompt), "-n", str(generate), "-d", str(depth), "-r", "1", "-o", "json"]
    return words
