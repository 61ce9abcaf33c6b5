"""Engine: what canonical cuts, the worker and its pipe cost, against llama-bench of the unpatched source.

Same weights, threads, ubatch, flash attention and key/value type; prefill of one long message from an empty lane with
the cache off, and greedy decoding at the same depth. Ours and theirs in turn, pair by pair.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from skippy_chat.bench.figures import Bar, Cell, Column, Plot, median, ratio_figure
from skippy_chat.bench.notebook import Notebook, line
from skippy_chat.bench.plan import Plan
from skippy_chat.bench.rig import Measured, Rig, Worker
from skippy_chat.bench.stock import Stock, llama_bench_command, run_llama_bench
from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.errors import SkippyError

SPEED_BAR = Bar("at_least", 0.95)
UBATCH = 256
_SHORT, _LONGEST = 1024, 2048
_TRIES = 4

_COLUMNS = (
    Column("test", "test"),
    Column("pair", "pair"),
    Column("tokens", "tokens"),
    Column("depth", "at depth"),
    Column("ours", "ours tok/s", 1),
    Column("theirs", "llama-bench tok/s", 1),
    Column("ratio", "ours / theirs", 3),
)


@dataclass(slots=True)
class Speeds:
    """Tokens per second of each pair, and what was read and written: ``depth`` tokens of prompt, ``wrote`` after it."""

    depth: int
    wrote: int
    prefill: list[float] = field(default_factory=list)
    decode: list[float] = field(default_factory=list)
    their_prefill: list[float] = field(default_factory=list)
    their_decode: list[float] = field(default_factory=list)


def run(notes: Notebook, rig: Rig, plan: Plan, stock: Stock) -> None:
    """Measure prefill and decode at the shortest length, and at the longest up to 2,048."""
    rows: list[tuple[Cell, ...]] = []
    with rig.worker(cache=False) as worker:
        lengths, told = plan.fitting(worker.loaded.context_size)
        if told:
            notes.note(told)
        fitting = [length for length in lengths if length <= _LONGEST] or [min(lengths)]
        for length in sorted({min(fitting), max(fitting)}):
            speeds = _measure(notes, rig, worker, stock, plan, length)
            _figures(notes, speeds)
            rows += _rows("prefill", speeds.depth, 0, speeds.prefill, speeds.their_prefill)
            rows += _rows("decode", speeds.wrote, speeds.depth, speeds.decode, speeds.their_decode)
    notes.table("engine", "Tokens per second against llama-bench", _COLUMNS, rows)
    notes.note(
        "llama-bench counts neither sampling nor tokenising; ours samples and sends each token to the client."
    )
    series = [
        line(f"{test}, {who}", _points(rows, test, column))
        for test in ("prefill", "decode")
        for who, column in (("ours", 4), ("llama-bench", 5))
    ]
    title = "Speed against llama-bench"
    notes.plot(Plot("engine", title, "prompt tokens (depth)", "tokens per second", tuple(series)))


def _measure(notes: Notebook, rig: Rig, worker: Worker, stock: Stock, plan: Plan, length: int) -> Speeds:
    prompt, first = _talkative(rig, worker, length, plan.decode)
    speeds = Speeds(first.usage.prompt_tokens, first.usage.generated_tokens)
    if speeds.wrote < plan.decode:
        notes.note(
            f"At depth {speeds.depth:,} every answer tried ended early: decoding is timed over {speeds.wrote} tokens."
        )
    common = {"threads": rig.threads, "ubatch": UBATCH}
    reading = llama_bench_command(stock, rig.model, prompt=speeds.depth, **common)
    writing = llama_bench_command(stock, rig.model, generate=speeds.wrote, depth=speeds.depth, **common)
    notes.commands += [shlex.join(reading), shlex.join(writing)]

    def ours() -> None:
        measured = worker.step(prompt, max_tokens=plan.decode, cache=False)
        speeds.prefill.append(measured.prefill_rate)
        speeds.decode.append(measured.timings.tokens_per_second)

    def theirs() -> None:
        speeds.their_prefill.append(float(run_llama_bench(reading)[0]["avg_ts"]))
        speeds.their_decode.append(float(run_llama_bench(writing)[0]["avg_ts"]))

    pairs = (plan.pairs + 1) // 2 if length <= _SHORT else plan.repeats
    for number in range(pairs):
        with notes.measuring(f"engine: {speeds.depth:,} tokens, pair {number + 1} of {pairs}"):
            for turn in (ours, theirs) if number % 2 else (theirs, ours):
                turn()
    return speeds


def _talkative(rig: Rig, worker: Worker, length: int, decode: int) -> tuple[Dialogue, Measured]:
    """Return a prompt of one long message whose greedy answer is ``decode`` tokens long, or the longest one found.

    Raises:
        SkippyError: every answer ends at once.
    """
    tried: list[tuple[Dialogue, Measured]] = []
    for _ in range(_TRIES):
        prompt = Dialogue().said("user", rig.text(length))
        tried.append((prompt, worker.step(prompt, max_tokens=decode, cache=False)))
        if tried[-1][1].usage.generated_tokens >= decode:
            break
    best = max(tried, key=lambda each: each[1].usage.generated_tokens)
    if best[1].usage.generated_tokens < 2:
        raise SkippyError("The model ends every answer at once, so its decoding cannot be timed.")
    return best


def _figures(notes: Notebook, speeds: Speeds) -> None:
    name = f"prefill of {speeds.depth:,} tokens in one message / llama-bench pp"
    notes.figure(ratio_figure(name, speeds.prefill, speeds.their_prefill, SPEED_BAR))
    name = f"greedy decode at depth {speeds.depth:,} / llama-bench tg"
    notes.figure(ratio_figure(name, speeds.decode, speeds.their_decode, SPEED_BAR))


def _rows(
    test: str, tokens: int, depth: int, ours: list[float], theirs: list[float]
) -> list[tuple[Cell, ...]]:
    return [
        (test, number, tokens, depth, mine, their, mine / their if their else None)
        for number, (mine, their) in enumerate(zip(ours, theirs, strict=True), 1)
    ]


def _points(rows: list[tuple[Cell, ...]], test: str, column: int) -> list[tuple[float, float]]:
    """Return (depth or length, median speed) of a test."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if row[0] == test and isinstance(speed := row[column], float):
            at = row[3] if test == "decode" else row[2]
            found.setdefault(float(at or 0), []).append(speed)
    return [(at, middle) for at, speeds in found.items() if (middle := median(speeds)) is not None]
