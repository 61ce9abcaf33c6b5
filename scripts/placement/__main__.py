"""Replay conversations against policies and budgets: ``python -m scripts.placement [--json]``.

No model is needed and nothing is written; equal seeds give equal figures.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

from scripts.placement.policies import POLICIES
from scripts.placement.store import Model, Store
from scripts.placement.traces import TRACES

MIB, GIB = 1 << 20, 1 << 30

MODELS = {
    model.name: model
    for model in (
        Model("default", 1_098_988, 23_100, 196_608),
        Model("hybrid", 150 * MIB, 64 << 10, MIB),
        Model("recurrent", 24 * MIB, 0, 256 << 10),
        Model("dense", 0, 64 << 10, MIB),
    )
}

BUDGETS = {"default": (1.0, 10.0), "hybrid": (10.0, 40.0), "recurrent": (2.0,), "dense": (10.0,)}
"""Of the documented table, in GiB."""


@dataclass(frozen=True, slots=True)
class Run:
    """One trace against one policy."""

    trace: str
    policy: str
    model: str
    budget: int
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: parts of 1, bytes, and seconds that it took."""

    run: Run
    turns: int
    prompt_tokens: int
    cached_tokens: int
    reused: float
    work_saved: float
    bytes_written: int
    bytes_held: int
    refused: int
    seconds: float


def simulate(run: Run) -> Outcome:
    """Carry out one run."""
    began = time.perf_counter()
    store = Store(MODELS[run.model], run.budget, POLICIES[run.policy]())
    seeded = random.Random(f"{run.seed} {run.trace}")  # noqa: S311 - equal seeds, equal figures
    for turn in TRACES[run.trace](seeded):
        store.take(turn)
    tally = store.tally
    assert tally.peak <= run.budget
    return Outcome(
        run,
        tally.turns,
        tally.prompt,
        tally.cached,
        tally.cached / tally.prompt,
        tally.saved / tally.work,
        tally.written,
        store.held,
        tally.refused,
        time.perf_counter() - began,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table for each model and budget, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m scripts.placement", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print every figure as JSON")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", choices=MODELS, action="append")
    parser.add_argument("--trace", choices=TRACES, action="append")
    parser.add_argument("--policy", choices=POLICIES, action="append")
    parser.add_argument("--budget", type=float, action="append", metavar="GIB")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    chosen = parser.parse_args(arguments)
    runs = [
        Run(trace, policy, model, int(budget * GIB), chosen.seed)
        for model in chosen.model or MODELS
        for budget in chosen.budget or BUDGETS[model]
        for policy in chosen.policy or POLICIES
        for trace in chosen.trace or TRACES
    ]
    with ProcessPoolExecutor(chosen.jobs) as pool:
        outcomes = list(pool.map(simulate, runs))
    if chosen.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    else:
        _tables(outcomes)
    print(f"{sum(outcome.seconds for outcome in outcomes):.0f} s of processor time", file=sys.stderr)


def _tables(outcomes: Sequence[Outcome]) -> None:
    groups: dict[tuple[str, int], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.run.model, outcome.run.budget), []).append(outcome)
    for (model, budget), group in groups.items():
        traces = list(dict.fromkeys(outcome.run.trace for outcome in group))
        print(f"\n{model}, {budget / GIB:g} GiB: prefill work saved in %, mean of all traces, GiB written")
        print(f"{'':24}" + "".join(f"{trace:>11}" for trace in traces) + f"{'all':>8}{'written':>9}")
        for policy in dict.fromkeys(outcome.run.policy for outcome in group):
            line = [outcome for outcome in group if outcome.run.policy == policy]
            mean = sum(outcome.work_saved for outcome in line) / len(line)
            cells = "".join(f"{100 * outcome.work_saved:11.1f}" for outcome in line)
            written = sum(outcome.bytes_written for outcome in line) / GIB
            print(f"{policy:24}{cells}{100 * mean:8.1f}{written:9.0f}")


if __name__ == "__main__":
    main()
