"""overhead: prompts that are never repeated, with the cache on and off, interleaved.

A measured phase: its figures are this machine's at this moment, so every pair is in the evidence. Each step has a
prompt of its own, of one length: nothing of it is found on disk, nor in the lane as the step before left it, so that
only the work of looking up and recording tells the two of a pair apart. What is still to be written when a step has
ended is waited for outside the measure, as it is between the turns of a conversation.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass

from skippy_chat.gate.ground import Ground
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.values import Sheet

PAIRS = 10
LEAST = 0.97
_DECODED = 48
_ENOUGH = 8
"""Fewer tokens than this say nothing about the speed of writing."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """Tokens per second of one step; ``decode`` is None for an answer that ended at once."""

    prefill: float
    decode: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two new prompts of one length, one read with the cache on, one with it off."""

    on: Speeds
    off: Speeds


def overhead(ground: Ground, sheet: Sheet) -> None:
    """Measure ten pairs after one that warms up, and compare medians."""
    with ground.stage("overhead") as stage:
        _pair(ground, stage, 0)
        pairs = [_pair(ground, stage, number) for number in range(1, PAIRS + 1)]
    (ground.evidence.folder / "overhead-pairs.json").write_text(
        json.dumps([asdict(pair) for pair in pairs], indent=2) + "\n", encoding="utf-8"
    )
    prefill = [pair.on.prefill / pair.off.prefill for pair in pairs]
    decode = [pair.on.decode / pair.off.decode for pair in pairs if pair.on.decode and pair.off.decode]
    judge(sheet, "prefill", prefill)
    judge(sheet, "decode", decode)
    ratios = (("prefill", prefill), ("decode", decode))
    sheet.summary = ", ".join(f"{name} {statistics.median(each):.1%}" for name, each in ratios if each)


def judge(sheet: Sheet, name: str, ratios: list[float]) -> None:
    """Check the median of speeds with the cache on over those with it off."""
    what = f"{name} with the cache on, of that with it off"
    if len(ratios) < PAIRS // 2:
        sheet.skip(what, f"only {len(ratios)} of {PAIRS} answers were long enough to be timed")
        return
    median = statistics.median(ratios)
    low, _, high = statistics.quantiles(ratios, n=4)
    sheet.holds(
        what,
        median >= LEAST,
        expected=f"a median of {LEAST:.0%} or more",
        found=f"{median:.1%} ({len(ratios)} pairs, the middle half from {low:.1%} to {high:.1%})",
    )


def _pair(ground: Ground, stage: Stage, number: int) -> Pair:
    """Read two new prompts; which way comes first changes from pair to pair."""
    found: dict[bool, Turn] = {}
    for cache in (True, False) if number % 2 else (False, True):
        seed = 1000 + 10 * number + 5 * cache
        talk = ground.dialogue(stage, ground.sizes.prompt, seed=seed)
        talk.add("user", ground.material.text(seed + 2, 16))
        found[cache] = talk.ask(
            f"pair {number}, cache {'on' if cache else 'off'}", max_tokens=_DECODED, cache=cache
        )
    return Pair(_speeds(found[True]), _speeds(found[False]))


def _speeds(turn: Turn) -> Speeds:
    """Return a step's speeds; looking up and restoring counts as reading."""
    usage, timings = turn.finished.usage, turn.finished.timings
    wrote = usage.generated_tokens - 1
    decode = 1000 * wrote / timings.decode_ms if wrote >= _ENOUGH and timings.decode_ms > 0 else None
    prefill = 1000 * usage.prefilled_tokens / max(timings.restore_ms + timings.prefill_ms, 1e-3)
    return Speeds(prefill, decode)
