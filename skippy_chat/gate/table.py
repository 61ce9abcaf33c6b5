"""The report as text, for a terminal of any width and for pipes.

Invariant: in a pipe only ASCII is written by the gate itself, and no line is cut: what does not fit goes on below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skippy_chat.gate.values import Check, PhaseResult, Report

_NARROWEST = 40
_HEAD = ("PHASE", "", "CHECKS", "SECONDS", "FOUND")
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class _Marks:
    passed: str
    failed: str
    skipped: str


_WORDS = _Marks("passed", "FAILED", "n/a")
_SIGNS = _Marks("✓ passed", "✗ FAILED", "- n/a")


def report_lines(report: Report, *, width: int | None) -> Iterator[str]:
    """Yield the lines of a report; ``width`` is that of a terminal in cells, None for a pipe."""
    marks = _WORDS if width is None else _SIGNS
    room = None if width is None else max(width, _NARROWEST)
    yield from _wrapped(_title(report), room)
    for note in report.notes:
        yield from _wrapped(f"Note: {note}", room)
    yield ""
    rows = [_row(phase, marks, strict=report.strict) for phase in report.phases]
    yield from _table([_HEAD, *rows], room)
    for phase in report.phases:
        yield from _details(phase, marks, room, strict=report.strict)
    yield ""
    yield from _wrapped(_verdict(report), room)
    yield from _wrapped(f"Evidence: {report.evidence}", room)


def phase_line(phase: PhaseResult, *, strict: bool) -> str:
    """Return one phase's result as a sentence."""
    word = "passed" if phase.passed(strict=strict) else "FAILED"
    found = f": {phase.summary}" if phase.summary else ""
    return f"{phase.name} {word} in {phase.seconds:.1f} s{found}"


def _title(report: Report) -> str:
    model, machine, material = report.model, report.machine, report.material
    tokens = f"{material['prefix_tokens']:,} tokens of prefix"
    mode = "token ids" if material["mode"] == "ids" else "text"
    return (
        f"{model['name']} ({model['architecture']}, {model['kind']}; checkpoints {model['proof']}), {mode}, {tokens}, "
        f"{machine['threads']} threads on {machine['machine']}"
    )


def _row(phase: PhaseResult, marks: _Marks, *, strict: bool) -> tuple[str, ...]:
    mark = marks.passed if phase.passed(strict=strict) else marks.failed
    checks = f"{phase.count('passed')}/{phase.count('passed') + phase.count('failed')}"
    return (phase.name, mark, checks, f"{phase.seconds:.1f}", phase.summary)


def _table(rows: Sequence[Sequence[str]], room: int | None) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
    left = sum(widths) + 2 * len(widths)
    for row in rows:
        cells = [
            cell.rjust(width) if column in (2, 3) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
        ]
        line = "  ".join(cells)
        if room is None or left + len(row[-1]) <= room:
            yield f"{line}  {row[-1]}".rstrip()
        elif left > room:  # not even the columns fit: one below the other
            yield f"{row[0]}  {row[1]}".rstrip()
            yield from _wrapped("  ".join(cell for cell in row[2:] if cell), room, _INDENT)
        else:
            yield line.rstrip()
            yield from _wrapped(row[-1], room, _INDENT)


def _details(phase: PhaseResult, marks: _Marks, room: int | None, *, strict: bool) -> Iterator[str]:
    """Yield what failed and what did not apply, the former in full."""
    wanted = [check for check in phase.checks if check.state != "passed"]
    if not wanted:
        return
    yield ""
    yield phase.name
    for check in wanted:
        yield from _wrapped(f"{_mark(check, marks, strict=strict)}  {check.what}", room, "  ")
        if check.state == "failed":
            yield from _wrapped(f"expected: {check.expected}", room, _INDENT)
        yield from _wrapped(
            f"{'found' if check.state == 'failed' else 'because'}: {check.found}", room, _INDENT
        )


def _mark(check: Check, marks: _Marks, *, strict: bool) -> str:
    if check.state == "not_applicable":
        return marks.skipped
    return marks.failed if check.failed(strict=strict) else f"{marks.failed} (the model's)"


def _verdict(report: Report) -> str:
    failed = [phase.name for phase in report.phases if not phase.passed(strict=report.strict)]
    seconds = sum(phase.seconds for phase in report.phases)
    checks = sum(len(phase.checks) for phase in report.phases)
    if failed:
        return f"FAILED: {', '.join(failed)} ({seconds:.0f} s)."
    return f"All {len(report.phases)} phases passed, {checks} checks, in {seconds:.0f} s."


def _wrapped(text: str, room: int | None, indent: str = "") -> list[str]:
    if room is None:
        return [indent + text]
    return textwrap.wrap(
        text, room, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    ) or [""]
