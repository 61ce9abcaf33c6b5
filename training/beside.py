"""Runs beside each other, by their logs: batch n of a seed is the same for all, so losses compare step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from training.lines import read_lines
from training.settings import Settings

Line = Mapping[str, float]


def beside(folders: Sequence[Path], window: int) -> str:
    """Return a Markdown table of the loss, in nats a counted token, by windows of the steps that all runs have made.

    Below it, the development set's, at each step where all of them were measured.

    Raises:
        ValueError: the runs have other seeds, batches or rates, or no step in common.
    """
    settings = [Settings.read(folder / "settings.json") for folder in folders]
    if len({(each.seed, each.batch, each.rate, each.minutes) for each in settings}) > 1:
        raise ValueError("These runs saw other batches, or learnt at other rates: they cannot be compared.")
    logs = [read_lines(folder / "log.jsonl") for folder in folders]
    steps = [{int(line["step"]): line for line in log if line.get("counted")} for log in logs]
    common = sorted(set.intersection(*(set(each) for each in steps)))
    if not common:
        raise ValueError("These runs have no step in common.")
    kinds = " | ".join(each.kind for each in settings)
    lines = [f"| steps | {kinds} |", f"|---|{'---|' * len(folders)}"]
    for start in range(common[0], common[-1] + 1, window):
        chosen = [step for step in common if start <= step < start + window]
        if chosen:
            means = [_mean([run[step] for step in chosen]) for run in steps]
            lines.append(_row(f"{chosen[0]} to {chosen[-1]}", means))
    measured = [
        {int(line["step"]): line["development"] for line in log if "development" in line} for log in logs
    ]
    lines += [
        _row(f"development set, after {step}", [run[step] for run in measured])
        for step in sorted(set.intersection(*(set(each) for each in measured)))
    ]
    return "\n".join(lines)


def _mean(lines: Sequence[Line]) -> float:
    return sum(line["words"] * line["counted"] for line in lines) / sum(line["counted"] for line in lines)


def _row(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |"
