"""Growth: what a turn costs as a conversation gets longer, and as more sessions share one system prompt.

The cost of a turn should follow its new tokens, not the conversation's length or the number of sessions. A model
whose context ends before the wanted length is measured up to its end, and the report says so.
"""

from __future__ import annotations

from skippy_chat.bench.figures import Cell, Column, Figure, Plot, median
from skippy_chat.bench.notebook import Notebook, line
from skippy_chat.bench.plan import Plan, room_in
from skippy_chat.bench.rig import Measured, Rig, Worker
from skippy_chat.dialogues.dialogue import Dialogue

_SYSTEM = 1024
_QUESTION = 24
_ANSWER = 4
_SHOWN = 40

_TURN_COLUMNS = (
    Column("context", "context"),
    Column("prompt", "prompt"),
    Column("cached", "cached"),
    Column("prefilled", "prefilled"),
    Column("lookup_ms", "render + lookup + restore ms", 2),
    Column("first_token_s", "first token s", 3),
    Column("per_new_token_ms", "ms per new token", 2),
    Column("recorded", "bytes"),
    Column("flushed_ms", "durable after ms", 1),
    Column("new_process_s", "first token in a new process s", 3),
)
_SESSION_COLUMNS = (
    Column("sessions", "sessions"),
    Column("cached", "cached"),
    Column("prefilled", "prefilled"),
    Column("lookup_ms", "render + lookup + restore ms", 2),
    Column("first_token_s", "first token s", 3),
    Column("flushed_ms", "durable after ms", 1),
    Column("recorded", "bytes"),
    Column("store", "store MiB", 1),
)


def run(notes: Notebook, rig: Rig, plan: Plan) -> None:
    """Grow one conversation, then the number of sessions."""
    _conversation(notes, rig, plan)
    _sessions(notes, rig, plan)


def _conversation(notes: Notebook, rig: Rig, plan: Plan) -> None:
    dialogue = Dialogue().said("system", rig.text(plan.turn))
    turns: list[Measured] = []
    marks: dict[int, tuple[Dialogue, float]] = {}
    following = 1024
    with rig.worker() as worker, notes.measuring(f"growth: turns of {plan.turn} tokens"):
        room = room_in(worker.loaded.context_size)
        end = min(plan.grow_to, room)
        if end < plan.grow_to:
            notes.note(
                f"The context of {worker.loaded.context_size:,} tokens ends before {plan.grow_to:,}: "
                f"the conversation grows to about {end:,}."
            )
        while not turns or turns[-1].usage.context_tokens + plan.turn < end:
            dialogue = dialogue.said("user", rig.text(plan.turn))
            turns.append(notes.failures(worker.step(dialogue)))
            if turns[-1].usage.context_tokens >= following:
                marks[len(turns) - 1] = (dialogue, 0.0)
                following *= 2
            dialogue = dialogue.answered(turns[-1].reply)
    for number, (asked, _unknown) in marks.items():
        with rig.worker() as worker, notes.measuring(f"growth: turn {number + 1} again in a new process"):
            marks[number] = (asked, worker.step(asked).first_token)
    rows = [_turn_row(turn, marks.get(number)) for number, turn in enumerate(turns)]
    notes.table(
        "growth_turns", f"Turns of about {plan.turn} tokens as one conversation grows", _TURN_COLUMNS, rows
    )
    _turn_plots(notes, turns, marks)


def _turn_row(turn: Measured, again: tuple[Dialogue, float] | None) -> tuple[Cell, ...]:
    usage = turn.usage
    return (
        usage.context_tokens,
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.prefilled_tokens,
        turn.timings.restore_ms,
        turn.first_token,
        turn.first_token * 1000 / max(1, usage.prefilled_tokens),
        turn.recorded,
        turn.flushed * 1000,
        None if again is None else again[1],
    )


def _turn_plots(notes: Notebook, turns: list[Measured], marks: dict[int, tuple[Dialogue, float]]) -> None:
    at = [float(turn.usage.context_tokens) for turn in turns]
    notes.plot(
        Plot(
            "growth_turns",
            "Cost of a turn as the conversation grows",
            "tokens in context",
            "milliseconds",
            (
                line(
                    "first token", [(x, turn.first_token * 1000) for x, turn in zip(at, turns, strict=True)]
                ),
                line(
                    "render + lookup + restore",
                    [(x, turn.timings.restore_ms) for x, turn in zip(at, turns, strict=True)],
                ),
                line("durable after", [(x, turn.flushed * 1000) for x, turn in zip(at, turns, strict=True)]),
                line(
                    "exact replay, new process",
                    [(at[number], again * 1000) for number, (_d, again) in marks.items()],
                ),
            ),
            log_y=True,
        )
    )
    per_token = [(x, turn.recorded / max(1, _new(turn))) for x, turn in zip(at, turns, strict=True)]
    notes.plot(
        Plot(
            "growth_bytes",
            "Bytes recorded per new token as the conversation grows",
            "tokens in context",
            "bytes",
            (line("bytes", per_token),),
        )
    )


def _new(turn: Measured) -> int:
    return turn.usage.context_tokens - turn.usage.cached_tokens


def _sessions(notes: Notebook, rig: Rig, plan: Plan) -> None:
    done: list[tuple[Measured, int]] = []
    with rig.worker() as worker:
        size = min(_SYSTEM, room_in(worker.loaded.context_size) // 2)
        system = Dialogue().said("system", rig.text(size))
        with notes.measuring(f"growth: {plan.sessions:,} sessions on one system prompt"):
            for number in range(plan.sessions):
                measured = _session(notes, rig, worker, system)
                weight = rig.weigh().segments if _kept(number, plan.sessions) else 0
                done.append((measured, weight))
                if number % 50 == 49:
                    notes.say(f"growth: session {number + 1:,} of {plan.sessions:,}")
    rows = [
        _session_row(number + 1, measured, weight)
        for number, (measured, weight) in enumerate(done)
        if _kept(number, plan.sessions)
    ]
    title = f"A first turn of a new session on a system prompt of about {size:,} tokens"
    notes.table("growth_sessions", title, _SESSION_COLUMNS, rows)
    _session_figures(notes, [measured for measured, _ in done[1:]])
    later = [(float(number), each) for number, (each, _weight) in enumerate(done, 1) if number > 1]
    notes.plot(
        Plot(
            "growth_sessions",
            "Cost of a new session's first turn by the number of sessions",
            "sessions on one system prompt",
            "milliseconds",
            (
                line("first token", [(x, each.first_token * 1000) for x, each in later]),
                line("render + lookup + restore", [(x, each.timings.restore_ms) for x, each in later]),
                line("durable after", [(x, each.flushed * 1000) for x, each in later]),
            ),
            log_y=True,
        )
    )


def _session(notes: Notebook, rig: Rig, worker: Worker, system: Dialogue) -> Measured:
    asked = system.said("user", rig.text(_QUESTION))
    return notes.failures(worker.step(asked, max_tokens=_ANSWER))


def _session_figures(notes: Notebook, later: list[Measured]) -> None:
    """Compare the last tenth of the sessions with the first: what their number costs."""
    tenth = max(1, len(later) // 10)
    if len(later) < 2 * tenth:
        return
    for name, values in (
        ("first token", [each.first_token for each in later]),
        ("render + lookup + restore", [each.timings.restore_ms / 1000 for each in later]),
    ):
        early, late = median(values[:tenth]), median(values[-tenth:])
        ratio = late / early if early and late is not None else None
        notes.figure(Figure(f"{name}: last tenth of the sessions / first tenth", ratio, "times"))


def _kept(number: int, total: int) -> bool:
    """Choose the sessions that the table shows: the first ones, then ever farther apart."""
    return number in (0, 1, 4, total - 1) or (number + 1) % max(1, total // min(_SHOWN, 20)) == 0


def _session_row(number: int, measured: Measured, weight: int) -> tuple[Cell, ...]:
    usage = measured.usage
    return (
        number,
        usage.cached_tokens,
        usage.prefilled_tokens,
        measured.timings.restore_ms,
        measured.first_token,
        measured.flushed * 1000,
        measured.recorded,
        weight / (1 << 20),
    )
