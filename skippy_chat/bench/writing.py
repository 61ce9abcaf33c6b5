"""A report as people read it: figures against their bars, tables, what was around, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from skippy_chat.bench.figures import Bar, Cell, Column, Figure, Report, Residency, SuiteReport, Table
from skippy_chat.bench.svg import to_svg


def write_plots(report: Report, folder: Path) -> list[Path]:
    """Write every plot of a report into ``folder`` and return the files."""
    written = []
    for suite in report.suites:
        for plot in suite.plots:
            path = folder / f"{plot.name}.svg"
            path.write_text(to_svg(plot, suite.command), encoding="utf-8")
            written.append(path)
    return written


def lines(report: Report, files: Sequence[Path]) -> Iterator[str]:
    """Yield the report line by line."""
    machine, model = report.machine, report.model
    yield f"skippy-chat {report.version}: {model.get('name')} ({model.get('architecture')}), {_sentence(machine)}"
    yield f"Repeat with: {report.command}"
    if not report.quiet:
        yield "The machine was NOT quiet: other programs were at work, so that times say little (see below)."
    busy = machine.get("busiest_at_start") or []
    if busy:
        told = ", ".join(f"{name} {used:.2f}" for name, used in busy[:5])
        yield f"At work before the start (processors used): {told}"
    for suite in report.suites:
        yield ""
        yield from _suite(suite)
    if files:
        yield ""
        yield f"Plots and report.json: {files[0].parent}"


def _sentence(machine: dict[str, object]) -> str:
    told = f"{machine.get('threads')} threads of {machine.get('cpus')} processors, {machine.get('processor')}"
    return f"{told}, checkpoints on {machine['file_system']}" if machine.get("file_system") else told


def _suite(suite: SuiteReport) -> Iterator[str]:
    yield f"== {suite.name} ({suite.seconds:.0f} s)   repeat with: {suite.command}"
    if suite.skipped:
        yield f"not run: {suite.skipped}"
        return
    if suite.error:
        yield f"FAILED: {suite.error}"
    if suite.figures:
        yield from table_lines(_figures_table(suite.figures))
    for table in suite.tables:
        yield ""
        yield from table_lines(table)
    for note in suite.notes:
        yield f"- {note}"
    for command in suite.commands:
        yield f"- ran: {command}"
    yield from _surroundings(suite)


def _figures_table(figures: Sequence[Figure]) -> Table:
    columns = (Column("figure", "figure"), Column("value", "value"), Column("bar", "bar"), Column("met", ""))
    rows: list[tuple[Cell, ...]] = [
        (each.name, _value(each), _bar(each.bar), {True: "met", False: "MISSED", None: ""}[each.met])
        for each in figures
    ]
    return Table("figures", "", columns, tuple(rows))


def _value(figure: Figure) -> str:
    if figure.value is None:
        return "not measured"
    told = (
        f"{figure.value:,.4g} {figure.unit}" if figure.value < 1e4 else f"{figure.value:,.0f} {figure.unit}"
    )
    if len(figure.samples) > 1:
        told += f" (median of {len(figure.samples)}: {min(figure.samples):.4g} to {max(figure.samples):.4g})"
    return told


def _bar(bar: Bar | None) -> str:
    if bar is None:
        return ""
    return f"{'at least' if bar.sense == 'at_least' else 'at most'} {bar.value:g}"


def _surroundings(suite: SuiteReport) -> Iterator[str]:
    noisy = [each for each in suite.disturbances if not each.quiet]
    if suite.disturbances:
        yield f"- quiet in {len(suite.disturbances) - len(noisy)} of {len(suite.disturbances)} measurements"
    for each in noisy[:5]:
        yield f"- others used {each.others} processors, load {each.load}, during {each.during}"
    for what in dict.fromkeys(each.what for each in suite.page_cache):
        yield _resident([each for each in suite.page_cache if each.what == what])


def _resident(found: Sequence[Residency]) -> str:
    known = [part for each in found if (part := each.fraction) is not None]
    what = found[0].what
    if not known:
        return f"- in the page cache, {what}: cannot be told on this system"
    return f"- in the page cache before measurements, {what}: {min(known):.0%} to {max(known):.0%}"


def table_lines(table: Table) -> Iterator[str]:
    """Yield a table with aligned columns; numbers stand to the right."""
    if table.title:
        yield table.title
    cells = [
        [_cell(cell, column.digits) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    heads = [column.title for column in table.columns]
    widths = [max(len(row[at]) for row in [heads, *cells]) for at in range(len(heads))]
    right = [all(not isinstance(row[at], str) for row in table.rows) for at in range(len(heads))]
    if any(heads):
        yield _aligned(heads, widths, right)
    for row in cells:
        yield _aligned(row, widths, right)


def _aligned(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    ]
    return "  ".join(parts).rstrip()


def _cell(cell: Cell, digits: int) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.{digits}f}" if isinstance(cell, float) else f"{cell:,}"
