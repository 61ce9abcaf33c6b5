"""What a benchmark run found, as plain values: figures against their bars, tables, plots, and what was around.

Invariant: every value was measured in this run, or is None; a figure that was not measured is never filled in.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

SCHEMA = 1

Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must reach: at least, or at most, ``value``."""

    sense: Literal["at_least", "at_most"]
    value: float

    def met_by(self, value: float) -> bool:
        """Return whether ``value`` reaches the bar."""
        return value >= self.value if self.sense == "at_least" else value <= self.value


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its unit; ``samples`` are what it is the median of, ``bar`` what it must reach."""

    name: str
    value: float | None
    unit: str
    bar: Bar | None = None
    samples: tuple[float, ...] = ()
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None without a bar or a value."""
        return None if self.bar is None or self.value is None else self.bar.met_by(self.value)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``key`` in JSON, ``title`` (with the unit) for people, ``digits`` after the point."""

    key: str
    title: str
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A named line of (x, y) points."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of lines, or of grouped bars over ``categories`` (x is then 1 for the first of them, and so on).

    ``name`` is its file's name without the ending.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Residency:
    """How much of some files was in the page cache just before a measurement; ``resident`` None: cannot be told."""

    what: str
    before: str
    size: int
    resident: int | None

    @property
    def fraction(self) -> float | None:
        """Resident part, 0 to 1."""
        return None if self.resident is None or not self.size else self.resident / self.size


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What other programs took during a measurement: ``others`` in whole processors, ``load`` the load average."""

    during: str
    seconds: float
    others: float | None
    load: float | None
    quiet: bool


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """What one suite found; ``error`` when it failed, ``skipped`` when something it needs is not here."""

    name: str
    command: str
    seconds: float
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    page_cache: tuple[Residency, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    error: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run; ``quiet`` is False when anything else was seen at work."""

    command: str
    version: str
    at_ms: int
    machine: dict[str, Any]
    model: dict[str, Any]
    settings: dict[str, Any]
    suites: tuple[SuiteReport, ...]

    @property
    def quiet(self) -> bool:
        """Whether nothing else was seen to take a noteworthy part of a processor."""
        return bool(self.machine.get("quiet_at_start", True)) and all(
            each.quiet for suite in self.suites for each in suite.disturbances
        )


def median(values: Sequence[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None


def ratios(over: Sequence[float], under: Sequence[float]) -> tuple[float, ...]:
    """Return over/under pair by pair; both must be as long. A pair whose divisor is 0 says nothing and is left out."""
    return tuple(a / b for a, b in zip(over, under, strict=True) if b)


def ratio_figure(
    name: str,
    over: Sequence[float],
    under: Sequence[float],
    bar: Bar | None,
    unit: str = "times",
    note: str = "",
) -> Figure:
    """Return the median of the pairs' ratios as a figure, the ratios as its samples."""
    samples = ratios(over, under)
    return Figure(name, median(samples), unit, bar, samples, note)


def to_json(report: Report) -> dict[str, Any]:
    """Return a report as plain JSON types; every figure, table and plot carries the command that repeats it."""
    return {
        "schema": SCHEMA,
        "command": report.command,
        "version": report.version,
        "at_ms": report.at_ms,
        "quiet": report.quiet,
        "machine": report.machine,
        "model": report.model,
        "settings": report.settings,
        "suites": [_suite(each) for each in report.suites],
    }


def _suite(suite: SuiteReport) -> dict[str, Any]:
    return {
        "name": suite.name,
        "command": suite.command,
        "seconds": round(suite.seconds, 1),
        "error": suite.error or None,
        "skipped": suite.skipped or None,
        "figures": [
            {
                "name": each.name,
                "value": each.value,
                "unit": each.unit,
                "bar": None if each.bar is None else {each.bar.sense: each.bar.value},
                "met": each.met,
                "samples": list(each.samples),
                "note": each.note,
                "command": suite.command,
            }
            for each in suite.figures
        ],
        "tables": [
            {
                "name": each.name,
                "title": each.title,
                "command": suite.command,
                "rows": [
                    {column.key: cell for column, cell in zip(each.columns, row, strict=True)}
                    for row in each.rows
                ],
            }
            for each in suite.tables
        ],
        "plots": [
            {
                "name": each.name,
                "title": each.title,
                "x": each.x_label,
                "y": each.y_label,
                "command": suite.command,
                "categories": list(each.categories),
                "series": {line.name: [list(point) for point in line.points] for line in each.series},
            }
            for each in suite.plots
        ],
        "notes": list(suite.notes),
        "commands": list(suite.commands),
        "page_cache": [
            {
                "what": each.what,
                "before": each.before,
                "bytes": each.size,
                "resident": each.resident,
                "fraction": each.fraction,
            }
            for each in suite.page_cache
        ],
        "disturbances": [
            {
                "during": each.during,
                "seconds": round(each.seconds, 3),
                "others_cpus": each.others,
                "load": each.load,
                "quiet": each.quiet,
            }
            for each in suite.disturbances
        ],
    }
