"""A run's log in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from training.lines import read_lines
from training.settings import Settings

_LATELY = 20  # steps


def summary(folder: Path, settings: Settings) -> str:
    """Return how far a run is, and how it goes."""
    log = folder / "log.jsonl"
    lines = read_lines(log)
    steps = [each for each in lines if "words" in each]
    if not steps:
        return "not a step yet"
    lately = steps[-_LATELY:]
    spent = sum(each["seconds"] for each in steps) / 60
    speed = sum(each["tokens"] for each in lately) / sum(each["seconds"] for each in lately)
    told = [
        f"{settings.kind}: step {steps[-1]['step'] + 1:.0f}, {spent:.1f} of {settings.minutes:g} minutes",
        f"{sum(each['tokens'] for each in steps):,.0f} tokens, {sum(each['counted'] for each in steps):,.0f} counted",
        f"lately {speed:.0f} tokens/s, loss {_mean(lately, 'words'):.3f} + {_mean(lately, 'base'):.3f}",
    ]
    told += [
        f"development at step {each['step']:.0f}: {each['development']:.4f}"
        for each in lines
        if "development" in each
    ]
    return "\n".join(told)


def _mean(lines: Sequence[Mapping[str, float]], key: str) -> float:
    return sum(each[key] for each in lines) / len(lines)
