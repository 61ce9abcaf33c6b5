"""Runs phases one after another and puts the report together.

Invariant: a phase that breaks off is a failed phase with the reason, never a missing one; every worker that was started
is ended, and the counts of every step of every phase are checked.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from skippy_chat import __version__
from skippy_chat.engine.client import WORKER, EngineClient
from skippy_chat.engine.watch import DEFAULT_LIMITS, Limits
from skippy_chat.errors import SkippyError
from skippy_chat.gate.evidence import Evidence
from skippy_chat.gate.ground import GateOptions, Ground
from skippy_chat.gate.phases.registry import Phase, chosen
from skippy_chat.gate.stage import OnProgress, StartWorker
from skippy_chat.gate.values import PhaseResult, Report, Sheet

OnPhase = Callable[[PhaseResult], None]


def run_gate(
    options: GateOptions,
    *,
    work: Path,
    evidence: Path,
    start_worker: StartWorker,
    clock: Callable[[], float],
    on_progress: OnProgress,
    on_phase: OnPhase,
) -> Report:
    """Run the phases and return the report, which is also in the evidence.

    Args:
        options: the model, the phases, and how to load and talk to it.
        work: an empty folder for checkpoints, logs and copies.
        evidence: a folder, made if it is missing, for what lets a failure be looked at.
        start_worker: starts a worker process.
        clock: seconds.
        on_progress: is told (what, done, total) within phases.
        on_phase: is told each phase's result when it ends.

    Raises:
        UsageError: no such phase.
        SkippyError: the model cannot be loaded.
    """
    phases = chosen(options.phases or None)
    ground = Ground(options, work, Evidence(evidence), start_worker, clock, on_progress)
    log = _LogParts(ground.logs)
    results: list[PhaseResult] = []
    try:
        ground.prepare()
        ground.evidence.native(log.take())
        group = ""
        for phase in phases:
            if phase.group != group:
                ground.rest()
            group = phase.group
            results.append(_run_phase(ground, phase, log))
            on_phase(results[-1])
    finally:
        ground.close()
    report = Report(
        model=_model(ground),
        machine=this_machine(options),
        material=_material(ground),
        phases=tuple(results),
        strict=options.strict,
        evidence=str(ground.evidence.folder),
        notes=tuple(ground.notes),
    )
    ground.evidence.report(report)
    return report


def _run_phase(ground: Ground, phase: Phase, log: _LogParts) -> PhaseResult:
    ground.evidence.begin(phase.name)
    sheet, began, first = Sheet(), ground.clock(), len(ground.turns)
    try:
        phase.run(ground, sheet)
    except SkippyError as error:
        ground.close()
        sheet.holds("the phase runs to its end", passed=False, expected="no error", found=str(error))
    turns = ground.turns[first:]
    if turns:
        faults = [fault for turn in turns if (fault := turn.fault())]
        sheet.holds(
            f"counts of {len(turns)} steps",
            not faults,
            expected="cached + new = prompt = ids, reuse of what was read alone, a reason for each miss",
            found=faults[0] if faults else "so in all",
        )
    result = PhaseResult(phase.name, tuple(sheet.checks), ground.clock() - began, sheet.summary)
    ground.evidence.native(log.take())
    ground.evidence.result(result)
    return result


class _LogParts:
    """Gives what was written to the native logs since it was asked before; files that rotate keep their place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[int, int] = {}

    def take(self) -> bytes:
        parts = []
        for path in sorted(self._folder.glob("*.log*")):
            with contextlib.suppress(OSError), path.open("rb") as file:
                number = os.fstat(file.fileno()).st_ino
                file.seek(self._read.get(number, 0))
                part = file.read()
                self._read[number] = file.tell()
                if part:
                    parts.append(f"--- {path.name}\n".encode() + part)
        return b"".join(parts)


def _model(ground: Ground) -> Mapping[str, Any]:
    loaded = ground.loaded
    return {
        "name": loaded.name,
        "sha256": loaded.sha256,
        "identity": loaded.identity,
        "architecture": loaded.architecture,
        "kind": loaded.model_kind,
        "memory": loaded.memory,
        "proof": loaded.proof,
        "context": loaded.context_size,
    }


def _material(ground: Ground) -> Mapping[str, Any]:
    return {
        "mode": "ids" if ground.manner.by_ids else "text",
        "prefix_tokens": ground.sizes.prefix,
        "tail_tokens": ground.sizes.tail,
        "edits_head_tokens": ground.sizes.head,
        "kv_type": ground.options.kv_type,
        "flash_attention": ground.options.flash_attention,
    }


def this_machine(options: GateOptions) -> dict[str, Any]:
    """Return what this machine is, and how much of it is used."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "threads": options.threads,
        "gpu_layers": options.gpu_layers,
        "python": ".".join(map(str, sys.version_info[:3])),
        "skippy_chat": __version__,
    }


@contextlib.contextmanager
def working_folder(*, keep: bool) -> Iterator[Path]:
    """Give a folder of one's own, removed at the end unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="skippy-chat-gate-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def engine_starter(limits: Limits = DEFAULT_LIMITS) -> StartWorker:
    """Return what starts the product's own workers."""

    def start(log: Path, command: Any = None) -> EngineClient:
        return EngineClient(log, command=command or WORKER, limits=limits)

    return start
