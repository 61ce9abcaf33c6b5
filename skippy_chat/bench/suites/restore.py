"""Restore: from looking a prompt up in the store to having its logits, against reading the same bytes once.

The floor is what no verified restore can beat by much: the same bytes read into a fresh buffer, and one BLAKE3 pass.
Measured in a process that holds the product's own engine, because no client sees where rendering ends and looking
up begins; loading, rendering and tokenising are reported apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from skippy_chat.bench.figures import Bar, Cell, Column, Plot, median, ratio_figure
from skippy_chat.bench.notebook import Notebook, line
from skippy_chat.bench.plan import Plan
from skippy_chat.bench.probe import ProbeReply, ProbeRequest, reply_of, request_text
from skippy_chat.bench.rig import Rig
from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.errors import NativeError

RESTORE_BAR = Bar("at_most", 2.0)
_PATIENCE = 1800

_COLUMNS = (
    Column("prompt", "prompt"),
    Column("bytes", "MiB", 2),
    Column("files", "files"),
    Column("restore_ms", "lookup to logits ms", 2),
    Column("floor_ms", "read + BLAKE3 ms", 2),
    Column("ratio", "ratio", 2),
    Column("first_ms", "first ms", 2),
    Column("lookup_ms", "lookup ms", 2),
    Column("verify_ms", "map + verify ms", 2),
    Column("import_ms", "import ms", 2),
    Column("load_s", "load s", 2),
    Column("render_ms", "render + tokenise ms", 2),
)


def run(notes: Notebook, rig: Rig, plan: Plan) -> None:
    """Measure a restore at every length that fits."""
    rows: list[tuple[Cell, ...]] = []
    restores: list[tuple[float, float]] = []
    floors: list[tuple[float, float]] = []
    with rig.worker() as worker:
        lengths, told = plan.fitting(worker.loaded.context_size)
    if told:
        notes.note(told)
    for length in lengths:
        dialogue = Dialogue().said("system", rig.text(length // 4))
        with rig.worker() as worker:
            dialogue, recorded = worker.grow(
                dialogue, [rig.text(length // 4) for _ in range(3)], max_tokens=8
            )
        notes.failures(recorded)
        with notes.measuring(f"restore: {length:,} tokens, {plan.pairs} pairs"):
            found = probe(rig, dialogue, plan.pairs)
        figure = ratio_figure(
            f"lookup to logits, {found.prompt:,} tokens, against reading the same bytes",
            found.restore,
            found.floor,
            RESTORE_BAR,
        )
        notes.figure(figure)
        restores.append((found.prompt, (median(found.restore) or 0) * 1000))
        floors.append((found.prompt, (median(found.floor) or 0) * 1000))
        rows.append(_row(found, figure.value))
    notes.table("restore", "Lookup to logits, and its parts (medians)", _COLUMNS, rows)
    notes.note("first: the first restore of a new process; the others are restores into an emptied lane.")
    notes.plot(
        Plot(
            "restore",
            "Lookup to logits against reading the same bytes",
            "prompt tokens",
            "milliseconds",
            (line("lookup to logits", restores), line("read + BLAKE3", floors)),
        )
    )


def probe(rig: Rig, dialogue: Dialogue, pairs: int) -> ProbeReply:
    """Measure in a process of its own.

    Raises:
        NativeError: it failed, with the last line it wrote.
    """
    request = ProbeRequest(
        load=rig.request(),
        messages=list(dialogue.messages),
        answers=dict(dialogue.answers),
        by_ids=rig.texts.by_ids,
        pairs=pairs,
        scratch=str(rig.folder / "flat.bin"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "skippy_chat.bench.probe_process"],
        input=request_text(request),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PATIENCE,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        words = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        raise NativeError(f"The restore could not be measured: {words}")
    value: dict[str, Any] = json.loads(lines[-1])
    return reply_of(value)


def _row(found: ProbeReply, ratio: float | None) -> tuple[Cell, ...]:
    def milliseconds(values: list[float]) -> float | None:
        middle = median(values)
        return None if middle is None else middle * 1000

    return (
        found.prompt,
        found.size / (1 << 20),
        found.files,
        milliseconds(found.restore),
        milliseconds(found.floor),
        ratio,
        found.first * 1000,
        milliseconds(found.lookup),
        milliseconds(found.verify),
        milliseconds(found.put),
        found.load,
        milliseconds(found.render),
    )
