"""A model that calls tools in a small folder: each step of the loop reads only what is new, after a restart too.

Which tools are called is the model's own choice; what is promised are the counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from skippy_chat.api.chat import Skippy
from skippy_chat.api.reply import Step
from skippy_chat.demo.opening import opened

SESSION = "tools"
MAX_TOKENS = 160
FILES = {
    "notes/ferry.txt": "The ferry to Saltby leaves at 07:40 and at 16:15.\n",
    "notes/garden.txt": "Water the beans on Tuesday.\n",
    "README.md": "Notes for the summer house.\n",
}
QUESTIONS = {
    "tools": ("Which files are in the folder notes?", "What does notes/ferry.txt say?"),
    "tools-again": ("How much is 348 times 27?",),
}


@dataclass(frozen=True, slots=True)
class LoopStep:
    """One step of a turn: its counts, the calls it made with their results, or the answer that it ended with."""

    what: str
    number: int
    prompt: int
    cached: int
    prefilled: int
    calls: Sequence[Sequence[str]]
    text: str


def run_tools(part: str, folder: Path, model: str | None, threads: int | None) -> Iterator[LoopStep]:
    """Ask the questions of a part in one session; the folder that tools work in is made when it is missing."""
    workspace = folder / "workspace"
    for name, text in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    chosen = {
        "model": model,
        "threads": threads,
        "max_tokens": MAX_TOKENS,
        "tools": ["default"],
        "approve": "auto-read",
    }
    with Skippy.over(opened(folder, SESSION, workspace, **chosen)) as chat:
        for question in QUESTIONS[part]:
            reply = chat.ask(question)
            for number, step in enumerate(reply.steps, 1):
                yield _step(question, number, step, reply.content if step is reply.steps[-1] else "")


def _step(question: str, number: int, step: Step, text: str) -> LoopStep:
    usage = step.usage
    calls = [
        (call.name, json.dumps(call.arguments, ensure_ascii=False), call.status, call.result)
        for call in step.tool_calls
    ]
    return LoopStep(
        question, number, usage.prompt_tokens, usage.cached_tokens, usage.prefilled_tokens, calls, text
    )


def print_step(step: LoopStep) -> None:
    """Print one step: the question before the first, then what was read and what came of it."""
    if step.number == 1:
        print(f"  {step.what}")
    print(f"    step {step.number}: {step.cached:,} cached + {step.prefilled:,} read = {step.prompt:,}")
    for name, arguments, status, result in step.calls:
        lines = result.splitlines()
        print(f"      {name} {arguments}")
        print(f"      {status}: {' · '.join(lines[:3])}{' …' if len(lines) > 3 else ''}")
    if step.text:
        print(f"      {' '.join(step.text.split())}\n")


def loop_faults(steps: Sequence[LoopStep]) -> list[str]:
    """Compare the counts with what must hold: nothing that an earlier step read is read again."""
    faults = [
        f"{step.what} step {step.number}: counts do not add up"
        for step in steps
        if step.cached + step.prefilled != step.prompt
    ]
    faults += [
        f"{step.what} step {step.number}: {step.cached} cached, less than the {before.prompt} of the step before"
        for before, step in pairwise(steps)
        if step.cached < before.prompt
    ]
    return faults
