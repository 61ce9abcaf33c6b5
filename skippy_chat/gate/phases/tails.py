"""changed_tail, exact_replay and restart: one prefix, a tail that changes, and the same body twice.

The three share their turns, so that a run of all phases reads the long prefix once; a phase that is run alone makes
what it needs first.
"""

from __future__ import annotations

from dataclasses import dataclass

from skippy_chat.gate.ground import Ground
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.values import Sheet

_STAGE = "tails"
_ALPHA, _BETA, _GAMMA = 11, 12, 13


def changed_tail(ground: Ground, sheet: Sheet) -> None:
    """Read a prefix with the tail alpha, then measure the tail beta."""
    pair = _pair(ground)
    cached_up_to(sheet, "beta behind alpha's prefix", pair.beta)
    sheet.holds(
        "the shared prefix is the whole system prompt, not the tail",
        0 < pair.beta.reach.deepest < pair.beta.prompt,
        expected=f"a cut inside {pair.beta.prompt:,} tokens",
        found=f"{pair.beta.reach.deepest:,}",
    )
    sheet.summary = _count(pair.beta)


def exact_replay(ground: Ground, sheet: Sheet) -> None:
    """Send the body of beta a second time."""
    pair = _pair(ground)
    again = _ask(ground, _BETA, "beta again")
    all_cached(sheet, "the same body again", again)
    same_answer(sheet, "the same body again", pair.beta, again)
    sheet.summary = _count(again)


def restart(ground: Ground, sheet: Sheet) -> None:
    """End the process; a new one on the same folders gets a changed tail and the same bodies."""
    pair = _pair(ground)
    stage = ground.stage(_STAGE)
    before = stage.worker.pid
    stage.stop()
    after = stage.start().pid
    sheet.holds("another process", before != after, expected=f"not {before}", found=str(after))
    gamma = _ask(ground, _GAMMA, "gamma after the restart")
    cached_up_to(sheet, "a changed tail", gamma)
    sheet.equal("a changed tail: as much as before the restart", pair.beta.cached, gamma.cached)
    sheet.equal("a changed tail: from", "disk", gamma.source)
    for seed, name, first in ((_BETA, "beta", pair.beta), (_ALPHA, "alpha", pair.alpha)):
        again = _ask(ground, seed, f"{name} after the restart")
        all_cached(sheet, f"the body of {name} again", again)
        sheet.equal(f"the body of {name} again: from", "disk", again.source)
        same_answer(sheet, f"the body of {name} again", first, again)
    stage.stop()
    sheet.summary = f"{_count(gamma)}, from disk"


@dataclass(frozen=True, slots=True)
class _Pair:
    alpha: Turn
    beta: Turn


def _pair(ground: Ground) -> _Pair:
    """Return the two turns that all three phases start from; run once."""
    found = {turn.label: turn for turn in ground.measured}
    alpha = found.get("alpha") or _ask(ground, _ALPHA, "alpha")
    beta = found.get("beta") or _ask(ground, _BETA, "beta")
    return _Pair(alpha, beta)


def _ask(ground: Ground, seed: int, label: str) -> Turn:
    talk = ground.dialogue(stage_of(ground), ground.sizes.prefix)
    talk.add("user", ground.material.text(seed, ground.sizes.tail))
    turn = talk.ask(label)
    ground.measured.append(turn)
    return turn


def stage_of(ground: Ground) -> Stage:
    """Return the stage that the long prefix lies on."""
    return ground.stage(_STAGE)


def make_turns(ground: Ground) -> None:
    """Have the turns of changed_tail and exact_replay, for a phase that compares what others measured."""
    _pair(ground)
    _ask(ground, _BETA, "beta again")


def cached_up_to(sheet: Sheet, what: str, turn: Turn) -> None:
    """Check that a turn reused everything up to the last canonical cut that it shares with an earlier one."""
    sheet.equal(f"{what}: cached of {turn.prompt:,}", turn.reach.deepest, turn.cached)


def all_cached(sheet: Sheet, what: str, turn: Turn) -> None:
    """Check that a turn read nothing at all."""
    sheet.holds(
        f"{what}: cached and read",
        turn.cached == turn.reply.prompt_tokens and turn.finished.usage.prefilled_tokens == 0,
        expected=f"{turn.reply.prompt_tokens:,} and 0",
        found=f"{turn.cached:,} and {turn.finished.usage.prefilled_tokens:,}" + reason_of(turn),
    )


def same_answer(sheet: Sheet, what: str, first: Turn, again: Turn) -> None:
    """Check that two turns have the same ids and sampled from the same logits, to the bit."""
    sheet.holds(
        f"{what}: ids", first.answer == again.answer, expected=str(first.answer), found=str(again.answer)
    )
    same_logits(sheet, what, first, again)


def same_logits(sheet: Sheet, what: str, first: Turn, again: Turn) -> None:
    """Check that two turns sampled from the same logits, to the bit; a missing digest is no match."""
    mine, theirs = first.reply.logits_digest, again.reply.logits_digest
    sheet.holds(
        f"{what}: logits", bool(mine) and mine == theirs, expected=mine[:16] or "a digest", found=theirs[:16]
    )


def reason_of(turn: Turn) -> str:
    """Return why a turn missed, to stand behind a count."""
    return f" ({turn.miss})" if turn.miss is not None else ""


def _count(turn: Turn) -> str:
    return f"{turn.cached:,} of {turn.prompt:,} cached"
