"""Whether the machine was left alone: what other programs took of the processors while something was measured.

Invariant: a figure is never thrown away for a noisy machine; the report says how noisy it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.bench.figures import Disturbance

TOLERATED = 0.1
"""Processors that others may use, on average, on a machine that is called quiet."""

SHORTEST = 0.2
"""Seconds below which the kernel's ticks are too coarse to say anything."""

_BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; not idle, not waiting for a disk


@dataclass(frozen=True, slots=True)
class Ticks:
    """Clock ticks spent since boot: by everyone, and by this process with all that it started."""

    everyone: int
    own: int


def read_ticks(proc: Path = Path("/proc")) -> Ticks | None:
    """Return the ticks now; None where there is no such file system."""
    try:
        fields = (proc / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        everyone = sum(int(fields[index]) for index in _BUSY)
    except (OSError, IndexError, ValueError):
        return None
    spent = dict(_processes(proc))
    return Ticks(everyone, sum(spent[pid][1] for pid in _family(os.getpid(), spent)))


def busiest(seconds: float, *, sleep: Callable[[float], None] = time.sleep) -> list[tuple[str, float]]:
    """Watch for ``seconds`` and return the other programs at work, with processors used, busiest first."""
    before = dict(_processes(Path("/proc")))
    sleep(seconds)
    after = dict(_processes(Path("/proc")))
    ours = _family(os.getpid(), after)
    per_second = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    found: dict[str, float] = {}
    for pid, (_parent, ticks, name) in after.items():
        if pid not in ours and pid in before:
            used = (ticks - before[pid][1]) / per_second / seconds
            found[name] = found.get(name, 0.0) + used
    return sorted(((n, u) for n, u in found.items() if u >= TOLERATED / 2), key=lambda each: -each[1])


@contextmanager
def watched(during: str, note: Callable[[Disturbance], None]) -> Iterator[None]:
    """Watch the machine during a block and hand what was seen to ``note``."""
    before, began = read_ticks(), time.monotonic()
    yield
    seconds, after = time.monotonic() - began, read_ticks()
    others = None
    if before is not None and after is not None and seconds >= SHORTEST:
        taken = (after.everyone - before.everyone) - (after.own - before.own)
        others = round(max(0.0, taken / os.sysconf("SC_CLK_TCK") / seconds), 3)
    note(Disturbance(during, seconds, others, load_average(), others is None or others <= TOLERATED))


def load_average() -> float | None:
    """Return the load average of the last minute, None where there is none."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def _processes(proc: Path) -> Iterator[tuple[int, tuple[int, int, str]]]:
    """Yield each process's id, parent, ticks (of children that ended too) and name."""
    if not proc.is_dir():
        return
    for folder in proc.iterdir():
        if folder.name.isdigit():
            try:
                head, _, rest = (
                    (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
                )
            except OSError:
                continue  # it ended meanwhile
            fields = rest.split()
            yield int(folder.name), (int(fields[1]), sum(map(int, fields[11:15])), head.partition("(")[2])


def _family(root: int, processes: dict[int, tuple[int, int, str]]) -> set[int]:
    """Return the ids of a process and all below it that are there."""
    family = {root} & processes.keys()
    while True:
        more = {pid for pid, (parent, *_rest) in processes.items() if parent in family} - family
        if not more:
            return family
        family |= more
