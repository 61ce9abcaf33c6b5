"""Runs suites one after another, each in folders of its own, and puts together what they found.

Invariant: a suite that fails costs only itself: what it had found is kept, its error is told, the others go on.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skippy_chat import __version__
from skippy_chat.bench.figures import Report, SuiteReport
from skippy_chat.bench.notebook import Notebook
from skippy_chat.bench.plan import PEER_SUITES, SUITES, Plan
from skippy_chat.bench.quiet import TOLERATED, busiest, load_average
from skippy_chat.bench.rig import Rig
from skippy_chat.bench.stock import PeersMissing, Stock
from skippy_chat.bench.suites import engine, growth, peers, record, restore, reuse
from skippy_chat.engine.protocol import LoadReply
from skippy_chat.errors import SkippyError

Suite = Callable[[Notebook, Rig, Plan], None]

DISK_BUDGET = 8 << 30
"""Bytes that checkpoints of one suite may take, or a quarter of what is free."""

_WATCH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked to do.

    ``temporary`` is the folder in which it makes its own, on the disk that is to be measured; ``prefix`` the virtual
    environment; ``insisted`` the suites asked for by name; ``arguments`` what repeats the rest of the command line.
    """

    model: Path
    plan: Plan
    temporary: Path
    threads: int
    context: int
    suites: tuple[str, ...] = SUITES
    insisted: frozenset[str] = frozenset()
    prefix: Path = Path()
    arguments: tuple[str, ...] = ()


@dataclass(slots=True)
class Progress:
    """Tells how far a run is: ``say`` gets a sentence now and then."""

    say: Callable[[str], None]
    step: Callable[[str, int, int], None] = field(default=lambda *_: None)


def run_bench(options: Options, progress: Progress, *, now_ms: Callable[[], int]) -> Report:
    """Run the suites that were asked for.

    Raises:
        SkippyError: the model does not load at all.
    """
    progress.say("looking at what else is at work")
    at_work = busiest(_WATCH_SECONDS)
    load = load_average()
    if at_work:
        told = ", ".join(f"{name} ({used:.2f} processors)" for name, used in at_work[:3])
        progress.say(f"The machine is not quiet: {told}. Times will say little.")
    folder = Path(tempfile.mkdtemp(prefix="skippy-bench-", dir=options.temporary))
    try:
        shared = _rig(options, folder, "shared", progress)
        progress.say("loading and proving the model")
        loaded = shared.settle()
        plan = options.plan.within(loaded.context_size)
        reports = []
        for name in options.suites:
            rig = _rig(options, folder, name, progress)
            rig.texts = shared.texts
            reports.append(_suite(name, options, plan, rig, progress))
            shutil.rmtree(rig.folder, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Report(
        command=_command(options, options.suites),
        version=__version__,
        at_ms=now_ms(),
        machine=_machine(options, load, at_work),
        model=_model(options, loaded),
        settings={
            "by_ids": shared.texts.by_ids,
            "context": loaded.context_size,
            "threads": options.threads,
            "lengths": list(options.plan.lengths),
            "pairs": options.plan.pairs,
            "repeats": options.plan.repeats,
        },
        suites=tuple(reports),
    )


def _rig(options: Options, folder: Path, name: str, progress: Progress) -> Rig:
    own = folder / name
    own.mkdir(mode=0o700)
    return Rig(
        model=options.model,
        folder=own,
        shared=folder,
        threads=options.threads,
        context=options.context,
        disk_budget=min(DISK_BUDGET, shutil.disk_usage(folder).free // 4),
        progress=progress.step,
    )


def _suite(name: str, options: Options, plan: Plan, rig: Rig, progress: Progress) -> SuiteReport:
    notes = Notebook(rig, progress.say)
    command = _command(options, (name,))
    began = time.monotonic()

    def report(**how: str) -> SuiteReport:
        return notes.report(name, command, time.monotonic() - began, **how)

    try:
        work = _work(name, options)
    except PeersMissing as missing:
        if name in options.insisted:
            return report(error=str(missing))
        return report(skipped=str(missing))
    try:
        work(notes, rig, plan)
    except SkippyError as error:
        progress.say(f"{name} failed: {error}")
        return report(error=str(error))
    except Exception as error:  # noqa: BLE001 - a fault in one suite must not cost the others
        progress.say(f"{name} failed: {type(error).__name__}: {error}")
        return report(error=f"A fault in the suite: {type(error).__name__}: {error}")
    return report()


def _work(name: str, options: Options) -> Suite:
    """Return what a suite does.

    Raises:
        PeersMissing: it needs programs that are not built.
    """
    if name in PEER_SUITES:
        stock = Stock.find(options.plan.peers, options.prefix)
        compared = engine.run if name == "engine" else peers.run
        return lambda notes, rig, plan: compared(notes, rig, plan, stock)
    alone: Mapping[str, Suite] = {
        "reuse": reuse.run,
        "restore": restore.run,
        "record": record.run,
        "growth": growth.run,
    }
    return alone[name]


def _command(options: Options, suites: Sequence[str]) -> str:
    """Return the command line that measures the same again."""
    words = ["skippy-chat", "bench", "--suites", ",".join(suites), *options.arguments]
    return shlex.join(words)


def _machine(options: Options, load: float | None, at_work: list[tuple[str, float]]) -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "processor": processor_name(),
        "cpus": os.cpu_count(),
        "threads": options.threads,
        "python": platform.python_version(),
        "file_system": file_system(options.temporary),
        "load_at_start": load,
        "busiest_at_start": at_work,
        "quiet_at_start": sum(used for _, used in at_work) <= TOLERATED,
        "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY", ""),
    }


def file_system(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Return the type of the file system that a folder is on, "" where that cannot be told."""
    found, longest = "", -1
    with contextlib.suppress(OSError):
        for text in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
            _device, point, kind = text.split()[:3]
            if folder.resolve().is_relative_to(point) and len(point) > longest:
                found, longest = kind, len(point)
    return found


def processor_name() -> str:
    """Return what the processor calls itself."""
    with contextlib.suppress(OSError):
        for text in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = text.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _model(options: Options, loaded: LoadReply) -> dict[str, Any]:
    return {
        "name": loaded.name,
        "file": options.model.name,
        "bytes": options.model.stat().st_size,
        "sha256": loaded.sha256,
        "architecture": loaded.architecture,
        "kind": loaded.model_kind,
        "proof": loaded.proof,
    }


def failed(report: Report) -> bool:
    """Return whether any suite failed; a bar that is missed is a finding, not a failure of the run."""
    return any(suite.error for suite in report.suites)
