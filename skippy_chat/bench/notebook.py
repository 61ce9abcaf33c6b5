"""Where a suite writes down what it finds; what stands there when a suite fails is reported all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from skippy_chat.bench.figures import (
    Cell,
    Column,
    Disturbance,
    Figure,
    Plot,
    Residency,
    Series,
    SuiteReport,
    Table,
)
from skippy_chat.bench.pagecache import residency
from skippy_chat.bench.quiet import watched
from skippy_chat.bench.rig import Measured, Rig


@dataclass(slots=True)
class Notebook:
    """Findings of one suite, in order."""

    rig: Rig
    say: Callable[[str], None]
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    page_cache: list[Residency] = field(default_factory=list)
    disturbances: list[Disturbance] = field(default_factory=list)

    def figure(self, figure: Figure) -> None:
        """Write down a figure."""
        self.figures.append(figure)

    def table(
        self, name: str, title: str, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]
    ) -> None:
        """Write down a table."""
        self.tables.append(Table(name, title, tuple(columns), tuple(rows)))

    def plot(self, plot: Plot) -> None:
        """Write down a plot; lines without points are left out, and a plot without lines too."""
        drawn = tuple(line for line in plot.series if line.points)
        if drawn:
            self.plots.append(replace(plot, series=drawn))

    def note(self, text: str) -> None:
        """Write down a sentence, once."""
        if text not in self.notes:
            self.notes.append(text)

    def failures(self, measured: Measured) -> Measured:
        """Write down what went wrong with a step's checkpoints; return the step."""
        for reason in measured.failures:
            self.note(f"A checkpoint failed: {reason}")
        return measured

    @contextmanager
    def measuring(self, what: str, more: Sequence[Path] = ()) -> Iterator[None]:
        """Note what is in the page cache, then watch what other programs do during the block."""
        self.say(what)
        self.page_cache.append(residency("model", what, [self.rig.model]))
        files = self.rig.store_files()
        if files:
            self.page_cache.append(residency("segment files", what, files))
        if more:
            self.page_cache.append(residency("other files", what, more))
        with watched(what, self.disturbances.append):
            yield

    def report(
        self, name: str, command: str, seconds: float, *, error: str = "", skipped: str = ""
    ) -> SuiteReport:
        """Return what stands here."""
        return SuiteReport(
            name,
            command,
            seconds,
            tuple(self.figures),
            tuple(self.tables),
            tuple(self.plots),
            tuple(self.notes),
            tuple(self.commands),
            tuple(self.page_cache),
            tuple(self.disturbances),
            error,
            skipped,
        )


def line(name: str, points: Sequence[tuple[float, float]]) -> Series:
    """Return a line of a plot, its points in order of x."""
    return Series(name, tuple(sorted(points)))
