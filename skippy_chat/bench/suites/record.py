"""Record: what checkpoints cost while they are made, in bytes and in time.

Bytes are those in segment files after each turn, against what cannot be less: rows of the new tokens, the states and
logits that were kept. Time is that of unique prompts, read and answered with the cache on and off, in pairs whose
order alternates.
"""

from __future__ import annotations

from dataclasses import dataclass

from skippy_chat.bench.figures import Bar, Cell, Column, Figure, Plot, median, ratio_figure
from skippy_chat.bench.notebook import Notebook, line
from skippy_chat.bench.plan import Plan
from skippy_chat.bench.probe import ProbeReply
from skippy_chat.bench.rig import Measured, Rig, Weight, Worker
from skippy_chat.bench.suites.restore import probe
from skippy_chat.dialogues.dialogue import Dialogue

BYTES_BAR = Bar("at_most", 1.05)
SPEED_BAR = Bar("at_least", 0.97)
_TURNS = 6

_BYTE_COLUMNS = (
    Column("turn", "turn"),
    Column("tokens", "new tokens"),
    Column("states", "states"),
    Column("needed", "needed bytes"),
    Column("written", "written bytes"),
    Column("ratio", "written / needed", 4),
    Column("allocated", "allocated bytes"),
    Column("index", "index bytes"),
    Column("files", "files"),
)
_PAIR_COLUMNS = (
    Column("pair", "pair"),
    Column("prefill_on", "prefill on tok/s", 1),
    Column("prefill_off", "prefill off tok/s", 1),
    Column("prefill_ratio", "on/off", 3),
    Column("decode_on", "decode on tok/s", 1),
    Column("decode_off", "decode off tok/s", 1),
    Column("decode_ratio", "on/off", 3),
    Column("turn_on", "turn on s", 3),
    Column("turn_off", "turn off s", 3),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn left behind."""

    measured: Measured
    before: Weight
    after: Weight

    @property
    def tokens(self) -> int:
        """Tokens that were read or generated and fed."""
        return self.measured.usage.context_tokens - self.measured.usage.cached_tokens


def run(notes: Notebook, rig: Rig, plan: Plan) -> None:
    """Measure bytes, then time."""
    _bytes(notes, rig, plan)
    _pairs(notes, rig, plan)


def _bytes(notes: Notebook, rig: Rig, plan: Plan) -> None:
    dialogue = Dialogue().said("system", rig.text(plan.turn))
    turns: list[Turn] = []
    with rig.worker() as worker, notes.measuring(f"record: bytes of {_TURNS} turns of {plan.turn} tokens"):
        for _ in range(_TURNS):
            dialogue = dialogue.said("user", rig.text(plan.turn))
            last, before = dialogue, rig.weigh()
            measured = notes.failures(worker.step(dialogue))
            turns.append(Turn(measured, before, rig.weigh()))
            dialogue = dialogue.answered(measured.reply)
    facts = probe(rig, last, 1)
    rows = [_byte_row(number, turn, facts) for number, turn in enumerate(turns, 1)]
    notes.table("record_bytes", "Bytes per turn", _BYTE_COLUMNS, rows)
    needed = [_needed(turn, facts) for turn in turns]
    written = [float(turn.after.segments - turn.before.segments) for turn in turns]
    name = "bytes written per turn, against rows + states + logits"
    notes.figure(ratio_figure(name, written, needed, BYTES_BAR))
    notes.note(
        f"A token's attention rows are {facts.row:,.0f} bytes, a state {facts.state:,}, a row of logits "
        f"{facts.logits:,}."
    )


def _needed(turn: Turn, facts: ProbeReply) -> float:
    """Bytes that a turn cannot do without: rows of its new tokens, its states, and the logits of its prompt."""
    logits = facts.logits if turn.measured.usage.prefilled_tokens else 0
    return turn.tokens * facts.row + turn.measured.states * facts.state + logits


def _byte_row(number: int, turn: Turn, facts: ProbeReply) -> tuple[Cell, ...]:
    needed = _needed(turn, facts)
    written = turn.after.segments - turn.before.segments
    return (
        number,
        turn.tokens,
        turn.measured.states,
        round(needed),
        written,
        written / needed if needed else None,
        turn.after.allocated - turn.before.allocated,
        turn.after.others - turn.before.others,
        turn.after.files - turn.before.files,
    )


def _pairs(notes: Notebook, rig: Rig, plan: Plan) -> None:
    on: list[Measured] = []
    off: list[Measured] = []
    with rig.worker() as worker:
        _unique(rig, worker, plan, cache=True)  # once unmeasured, for both ways
        _unique(rig, worker, plan, cache=False)
        for number in range(plan.pairs):
            with notes.measuring(f"record: unique prompts, pair {number + 1} of {plan.pairs}"):
                for cache in (True, False) if number % 2 else (False, True):
                    (on if cache else off).append(notes.failures(_unique(rig, worker, plan, cache=cache)))
    rows = [_pair_row(number, *pair) for number, pair in enumerate(zip(on, off, strict=True), 1)]
    notes.table("record_pairs", "Unique prompts with the cache on and off", _PAIR_COLUMNS, rows)
    for what, rates in (
        ("prefill", ([each.prefill_rate for each in on], [each.prefill_rate for each in off])),
        (
            "decode",
            (
                [each.timings.tokens_per_second for each in on],
                [each.timings.tokens_per_second for each in off],
            ),
        ),
    ):
        notes.figure(ratio_figure(f"{what} of unique prompts, cache on / off", *rates, SPEED_BAR))
    _added(notes, on, off)
    notes.plot(
        Plot(
            "record",
            "Unique prompts: speed with the cache on / off, pair by pair",
            "pair",
            "on / off",
            (
                line("prefill", _points(rows, 3)),
                line("decode", _points(rows, 6)),
            ),
        )
    )


def _unique(rig: Rig, worker: Worker, plan: Plan, *, cache: bool) -> Measured:
    dialogue = (
        Dialogue().said("system", rig.text(plan.unique // 4)).said("user", rig.text(plan.unique * 3 // 4))
    )
    return worker.step(dialogue, max_tokens=plan.answer, cache=cache)


def _added(notes: Notebook, on: list[Measured], off: list[Measured]) -> None:
    """Write down the time that recording adds, the wait until all is durable told apart."""
    added = [
        (a.seconds - b.seconds) / max(1, a.usage.prefilled_tokens + a.usage.generated_tokens) * 1e6
        for a, b in zip(on, off, strict=True)
    ]
    notes.figure(Figure("time added per token by recording", median(added), "µs", None, tuple(added)))
    waits = tuple(each.flushed * 1000 for each in on)
    name = "wait behind the answer until its checkpoints are durable"
    notes.figure(Figure(name, median(waits), "ms", None, waits, "nobody waits for it but the next step"))


def _pair_row(number: int, on: Measured, off: Measured) -> tuple[Cell, ...]:
    decode_on, decode_off = on.timings.tokens_per_second, off.timings.tokens_per_second
    return (
        number,
        on.prefill_rate,
        off.prefill_rate,
        on.prefill_rate / off.prefill_rate if off.prefill_rate else None,
        decode_on,
        decode_off,
        decode_on / decode_off if decode_off else None,
        on.seconds,
        off.seconds,
    )


def _points(rows: list[tuple[Cell, ...]], column: int) -> list[tuple[float, float]]:
    return [(float(row[0] or 0), cell) for row in rows if isinstance(cell := row[column], float)]
