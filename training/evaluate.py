"""The sets, run through the product: its library, its agent loop, its worker, its tools in a workspace of their own.

One line is written for each case as soon as it is judged, so that a run can be stopped and gone on with. The report is
made from those lines alone.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Queue
from typing import Any

from skippy_chat import CallMade, Reply, Skippy
from skippy_chat.errors import SkippyError
from training.cases import CELLS, Case, load_cases, load_workspaces
from training.checking import MadeCall, Outcome, Verdict, judge
from training.intervals import wilson
from training.lines import append_line, read_lines
from training.room import furnish

_MOST_TOKENS = 220  # of one step's answer
_CONTEXT = 4096
_MOST_STEPS = 6  # two are due at most; more are the model going astray


@dataclass(frozen=True, slots=True)
class Trial:
    """How cases are run: ``jobs`` at a time, each with so many ``threads``.

    ``home`` holds sessions and checkpoints, which the cases of a job share as a person's would.
    """

    model: Path
    home: Path
    threads: int
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Judged:
    """One case and what came of it, as it is written down."""

    name: str
    cell: str
    tool: str
    verdict: Verdict
    answer: str
    calls: tuple[Mapping[str, Any], ...]


def run_case(case: Case, spaces: Mapping[str, Mapping[str, str]], trial: Trial) -> Judged:
    """Run one case and judge it; a turn that ends in an error counts as nothing done, and says so."""
    with tempfile.TemporaryDirectory(prefix="skippy-trial-") as scratch:
        folder = Path(scratch) / "workspace"
        folder.mkdir()
        furnish(folder, spaces.get(case.workspace, {}))
        outcome = _outcome(case, folder, trial)
        verdict = judge(case, outcome, folder)
    tool = case.calls[0].tool if case.calls else ""
    calls = tuple(
        {"name": call.name, "arguments": call.arguments, "status": call.status} for call in outcome.calls
    )
    return Judged(case.name, case.cell, tool, verdict, outcome.answer, calls)


def _outcome(case: Case, folder: Path, trial: Trial) -> Outcome:
    try:
        with Skippy(
            trial.model,
            tools=case.tools,
            approve="all",
            workspace=folder,
            temperature=0,
            max_tokens=_MOST_TOKENS,
            ctx=_CONTEXT,
            threads=trial.threads,
            data_dir=trial.home / "data",
            cache_dir=trial.home / "cache",
            config_dir=trial.home / "config",
            settings={"max_steps": _MOST_STEPS},
            env={name: value for name, value in os.environ.items() if not name.startswith("SKIPPY_")},
        ) as chat:
            replies = [chat.ask(turn) for turn in case.turns]
    except SkippyError as error:
        return Outcome((), 1, f"[{type(error).__name__}] {error}", "error")
    return outcome_of(replies[-1])


def outcome_of(reply: Reply) -> Outcome:
    """Return what is judged of a reply."""
    made = tuple(MadeCall(call.name, _arguments(call), call.status, call.result) for call in reply.tool_calls)
    return Outcome(made, sum(call.arguments is None for call in made), reply.content, reply.finish_reason)


def _arguments(call: CallMade) -> Mapping[str, Any] | None:
    """Return a call's arguments; None when they were no object, or did not fit the tool's schema."""
    refused = call.status == "error" and call.result.startswith(f"{call.name} was not run:")
    return call.arguments if isinstance(call.arguments, dict) and not refused else None


def evaluate(cases: Iterable[Case], trial: Trial, results: Path, say: Callable[[str], None]) -> list[Judged]:
    """Run the cases that have no line in ``results`` yet; returns all that are judged."""
    known = read_results(results)
    done = {each.name for each in known}
    spaces = load_workspaces()
    results.parent.mkdir(parents=True, exist_ok=True)
    homes: Queue[Path] = Queue()
    for job in range(trial.jobs):
        homes.put(trial.home / str(job))

    def run(case: Case) -> Judged:
        home = homes.get()
        try:
            return run_case(case, spaces, replace(trial, home=home))
        finally:
            homes.put(home)

    with ThreadPoolExecutor(trial.jobs) as pool:
        for judged in pool.map(run, [case for case in cases if case.name not in done]):
            append_line(results, asdict(judged))
            known.append(judged)
            told = "right" if judged.verdict.end and judged.verdict.arguments else "wrong"
            say(
                f"{told:5} {judged.name}: {json.dumps(judged.calls, ensure_ascii=False)} {judged.answer[:80]!r}"
            )
    return known


def chosen_cases(which: str, cells: Iterable[str], every: int = 1) -> list[Case]:
    """Return the cases of those cells; of each the first of ``every``, spread over all of it."""
    return [case for cell in CELLS if cell in set(cells) for case in load_cases(which, cell)[::every]]


def read_results(path: Path) -> list[Judged]:
    """Return what was judged so far; a line that a kill cut short is run again."""
    return [
        Judged(**{**stored, "verdict": Verdict(**stored["verdict"]), "calls": tuple(stored["calls"])})
        for stored in read_lines(path)
    ]


def report(judged: Iterable[Judged]) -> str:
    """Return a Markdown table by cell, and one by tool for single steps: shares with 95 % intervals."""
    everything = list(judged)
    lines = [
        "| cell | n | valid | right tool | tool and arguments | end as asked |",
        "|---|---|---|---|---|---|",
    ]
    single = [each for each in everything if each.cell == "one_step"]
    groups = {cell: [each.verdict for each in everything if each.cell == cell] for cell in CELLS}
    for tool in sorted({each.tool for each in single}):
        groups[f"one_step: {tool}"] = [each.verdict for each in single if each.tool == tool]
    groups["no call where none is due"] = groups["no_tool_due"] + groups["plain_chat"]
    return "\n".join([*lines, *(_line(name, rows) for name, rows in groups.items() if rows)])


def _line(name: str, verdicts: list[Verdict]) -> str:
    shares = [
        _share(sum(getattr(verdict, part) for verdict in verdicts), len(verdicts))
        for part in ("valid", "tool", "arguments", "end")
    ]
    return f"| {name} | {len(verdicts)} | {' | '.join(shares)} |"


def _share(successes: int, total: int) -> str:
    low, high = wilson(successes, total)
    return f"{100 * successes / total:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
