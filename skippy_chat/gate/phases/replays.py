"""replay_equals_warm: every measured turn is computed again from scratch, by its ledger, without a cache."""

from __future__ import annotations

from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases import tails
from skippy_chat.gate.stage import Turn
from skippy_chat.gate.talk import replay_request
from skippy_chat.gate.values import Sheet


def replay_equals_warm(ground: Ground, sheet: Sheet) -> None:
    """Compare ids and logits of every measured turn with its replay; turns of one ledger share one replay."""
    if not ground.measured:
        tails.make_turns(ground)
        tails.stage_of(ground).stop()
    replays: dict[bytes, Turn] = {}
    with ground.stage("replay", cache=False) as stage:
        for warm in ground.measured:
            key = _ledger_of(warm)
            if key not in replays:
                replays[key] = stage.run(replay_request(warm), f"replay of {warm.label}")
            again = replays[key]
            sheet.holds(
                f"{warm.label}: read from scratch",
                again.cached == 0 and again.finished.usage.prefilled_tokens == warm.reply.prompt_tokens,
                expected=f"{warm.reply.prompt_tokens:,} read",
                found=f"{again.finished.usage.prefilled_tokens:,} read, {again.cached:,} cached",
            )
            compare(ground, sheet, warm, again)
    sheet.summary = f"{len(ground.measured)} turns, {len(replays)} replays"


def compare(ground: Ground, sheet: Sheet, warm: Turn, again: Turn) -> None:
    """Check that a turn and its replay have the same ids and, on a processor, the same logits to the bit."""
    sheet.holds(
        f"{warm.label}: ids of its replay",
        warm.answer == again.answer,
        expected=str(again.answer),
        found=str(warm.answer),
    )
    if ground.options.gpu_layers:
        sheet.skip(f"{warm.label}: logits of its replay", "on a GPU sums may differ in rounding")
    else:
        tails.same_logits(sheet, f"{warm.label} against its replay", again, warm)


def _ledger_of(turn: Turn) -> bytes:
    """Return what a replay computes from: the prompt's ids and schedule, and how far the answer goes."""
    reply = turn.reply
    fed, schedule = 0, []
    for tokens, single in reply.schedule:
        if fed == reply.prompt_tokens:
            break
        schedule.append((tokens, single))
        fed += tokens
    answer = len(turn.answer), turn.ended, reply.redrawn
    return reply.ids[: reply.prompt_tokens].tobytes() + repr((schedule, answer)).encode()
