"""Reuse: how much of a prompt is not read again after each kind of edit, and what that saves.

Each case is asked of the worker that just held the conversation, as a person's edit would be; where it says "new
process" the worker was ended first, so that everything comes from disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from skippy_chat.bench.figures import Bar, Cell, Column, Plot, median, ratio_figure
from skippy_chat.bench.notebook import Notebook, line
from skippy_chat.bench.plan import Plan
from skippy_chat.bench.rig import Measured, Rig, Worker
from skippy_chat.dialogues.dialogue import Dialogue

EXACT_BAR = Bar("at_least", 50.0)
EXACT_BAR_TOKENS = 4000
ROUNDING = 256
TWICE = 100
TAILS = (1, 10, 100, 1000)
TAILS_UP_TO = 2048
"""Longest prompt whose tails are all tried: reading takes longer than it tells more."""

_COLUMNS = (
    Column("length", "length"),
    Column("case", "case"),
    Column("prompt", "prompt"),
    Column("cached", "cached"),
    Column("prefilled", "prefilled"),
    Column("source", "from"),
    Column("first_token_s", "first token s", 3),
    Column("cold_s", "cold s", 3),
    Column("faster", "times faster", 1),
)
_PLOTTED = ("exact replay, new process", "changed tail, first visit", "middle edit", "A, B, A")


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement: ``before`` are asked first, unmeasured."""

    name: str
    dialogue: Dialogue
    before: tuple[Dialogue, ...] = ()


def run(notes: Notebook, rig: Rig, plan: Plan) -> None:
    """Measure every case at every length that fits."""
    rows: list[tuple[Cell, ...]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    with rig.worker() as worker:
        lengths, told = plan.fitting(worker.loaded.context_size)
    if told:
        notes.note(told)
    for length in lengths:
        base, cold, exact = _cold_and_exact(notes, rig, plan, length)
        typical = median(cold) or 0.0
        lines.setdefault("cold", []).append((length, typical))
        rows.append(
            (
                length,
                "cold",
                exact[0].usage.prompt_tokens,
                0,
                exact[0].usage.prompt_tokens,
                "none",
                typical,
                typical,
                1.0,
            )
        )
        _exact_figure(notes, length, cold, exact)
        rows.append(_row(length, "exact replay, new process", exact[0], typical))
        lines.setdefault("exact replay, new process", []).append((length, exact[0].first_token))
        with rig.worker() as worker, notes.measuring(f"reuse: edits at {length:,} tokens"):
            for case, measured in _cases(notes, rig, worker, base, length):
                rows.append(_row(length, case.name, measured, typical))
                if case.name in _PLOTTED:
                    lines.setdefault(case.name, []).append((length, measured.first_token))
    notes.table("reuse", "Tokens read again and seconds to the first token, by edit", _COLUMNS, rows)
    notes.note(
        "cold: the unedited conversation of that length read with the cache off (median); every case is compared "
        "with it."
    )
    series = tuple(line(name, points) for name, points in lines.items())
    title = "Time to the first token by edit"
    notes.plot(Plot("reuse", title, "prompt tokens", "seconds", series, log_x=True, log_y=True))


def _cold_and_exact(
    notes: Notebook, rig: Rig, plan: Plan, length: int
) -> tuple[Dialogue, list[float], list[Measured]]:
    """Record a conversation, then read it cold and replay it from disk in a new process, in turn."""
    base = Dialogue().said("system", rig.text(length // 4))
    with rig.worker() as worker:
        base, _first = worker.grow(base, [rig.text(length // 4) for _ in range(3)])
    cold: list[float] = []
    exact: list[Measured] = []
    # Reading takes long: the length that has a bar gets all repeats, others one.
    repeats = plan.repeats if EXACT_BAR_TOKENS <= length <= EXACT_BAR_TOKENS + ROUNDING else 1
    for number in range(repeats):
        with (
            rig.worker() as worker,
            notes.measuring(f"reuse: cold and exact replay at {length:,} tokens, pair {number + 1}"),
        ):
            exact.append(notes.failures(worker.step(base)))
            cold.append(worker.step(base, cache=False).first_token)
    return base, cold, exact


def _exact_figure(notes: Notebook, length: int, cold: list[float], exact: list[Measured]) -> None:
    firsts = [each.first_token for each in exact]
    wanted = EXACT_BAR if length >= EXACT_BAR_TOKENS else None
    name = f"first token, exact replay of {exact[0].usage.prompt_tokens:,} tokens in a new process, faster than cold"
    notes.figure(ratio_figure(name, cold, firsts, wanted))


def _cases(
    notes: Notebook, rig: Rig, worker: Worker, base: Dialogue, length: int
) -> Iterator[tuple[Case, Measured]]:
    """Carry out the cases one after another, in one process."""
    for case in _plan_cases(rig, base, length):
        for before in case.before:
            worker.step(before)
        yield case, notes.failures(worker.step(case.dialogue))


def _plan_cases(rig: Rig, base: Dialogue, length: int) -> Iterator[Case]:
    last = len(base.messages) - 1
    said = base.messages[last]["content"]
    yield Case("exact replay", base, (base,))
    yield Case("changed tail, first visit", base.changed(last, _tail_changed(rig, said)), (base,))
    yield Case("changed tail, second visit", base.changed(last, _tail_changed(rig, said)))
    yield Case("middle edit", base.changed(3, rig.text(length // 4)), (base,))
    yield Case("regenerate an earlier answer", base.until(4), (base,))
    yield Case("A, B, A", base, (base.changed(last, rig.text(length // 4)),))
    yield Case("deleted turn", base.without(1, 3), (base,))
    for tokens in TAILS:
        if tokens > length // 2 or length > TAILS_UP_TO:
            continue
        at = base.until(last).said("user", rig.text(tokens))
        yield Case(f"tail of {tokens:,}, at the message", at, (base,))
        for visit in ("first", "second") if tokens == TWICE else ("first",):
            inside = base.changed(last, f"{_first_part(said, 0.75)} {rig.text(tokens)}")
            yield Case(f"tail of {tokens:,}, inside the message, {visit} visit", inside)


def _tail_changed(rig: Rig, said: str) -> str:
    """Return a content whose last words are others."""
    kept = _first_part(said, 0.9)
    return f"{kept} {rig.text(max(1, (len(said.split()) - len(kept.split()))))}"


def _first_part(said: str, part: float) -> str:
    words = said.split()
    return " ".join(words[: max(1, int(len(words) * part))])


def _row(length: int, name: str, measured: Measured, cold: float) -> tuple[Cell, ...]:
    usage, first = measured.usage, measured.first_token
    return (
        length,
        name,
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.prefilled_tokens,
        measured.cache.source,
        first,
        cold,
        cold / first if first else None,
    )
