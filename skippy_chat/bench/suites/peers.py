"""Peers: the same prompts, to the token, asked of ours, of stock llama-server and of llama-cpp-python's disk cache.

Each system answers them in the same order with a few greedy tokens. Before a restart llama-server's slot is saved
and afterwards restored, as its documentation says; the others keep what they keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skippy_chat.bench.figures import Cell, Column, Figure, Plot
from skippy_chat.bench.notebook import Notebook, line
from skippy_chat.bench.plan import Plan
from skippy_chat.bench.rig import Rig
from skippy_chat.bench.stock import Stock
from skippy_chat.bench.systems.disk_cache import DiskCache
from skippy_chat.bench.systems.llama_server import LlamaServer
from skippy_chat.bench.systems.ours import MAX_TOKENS, Ours
from skippy_chat.bench.systems.system import Asked, Prompt, System
from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.errors import SkippyError

_ENOUGH = 1000
_UBATCH = 256
_CASES = (
    "cold",
    "exact replay",
    "changed tail",
    "A, B, A",
    "restart, exact replay",
    "restart, changed tail",
)
_COLUMNS = (
    Column("length", "length"),
    Column("case", "case"),
    Column("system", "system"),
    Column("prompt", "prompt"),
    Column("reused", "reused"),
    Column("first_token_s", "first token s", 3),
)
Start = Callable[[], System]


def run(notes: Notebook, rig: Rig, plan: Plan, stock: Stock) -> None:
    """Ask every system the same."""
    with rig.worker() as worker:
        context = worker.loaded.context_size
    lengths, told = plan.fitting(context)
    if told:
        notes.note(told)
    # One length tells who reads again and who does not; the shortest that is not trivial.
    length = min((each for each in lengths if each >= _ENOUGH), default=max(lengths))
    prompts = _prompts(rig, length)
    found: dict[str, list[Asked]] = {}
    for number, start in enumerate(_starts(rig, stock, context, length)):
        error = _asked(notes, start, prompts, length, found)
        if error is not None and number == 0:
            raise error  # ours: that is a failure of the suite
    rows = _rows(length, found)
    _figures(notes, length, found)
    # Case by case, so that the systems stand below each other.
    notes.table("peers", "Tokens reused and seconds to the first token, same prompts", _COLUMNS, rows)
    _plot(notes, length, rows)


def _prompts(rig: Rig, length: int) -> list[Prompt]:
    """Return A, B with another tail, and C with yet another, as conversations and as ids."""
    base = Dialogue().said("system", rig.text(length // 3))
    with rig.worker(cache=False) as worker:
        a, _measured = worker.grow(base, [rig.text(length // 3) for _ in range(2)], max_tokens=MAX_TOKENS)
        said = a.messages[-1]["content"].split()
        kept = " ".join(said[: int(len(said) * 0.9)])
        others = [
            a.changed(len(a.messages) - 1, f"{kept} {rig.text(max(1, length // 30))}") for _ in range(2)
        ]
        found = []
        for dialogue in (a, *others):
            reply = worker.step(dialogue, max_tokens=1, cache=False).reply
            found.append(Prompt(dialogue, reply.ids[: reply.prompt_tokens]))
        return found


def _starts(rig: Rig, stock: Stock, context: int, length: int) -> Sequence[Start]:
    folder = rig.folder / f"peers-{length}"
    folder.mkdir()
    return (
        lambda: Ours(rig),
        lambda: LlamaServer(stock, rig.model, folder, threads=rig.threads, context=context, ubatch=_UBATCH),
        lambda: DiskCache(rig.model, folder, threads=rig.threads, context=context, ubatch=_UBATCH),
    )


def _asked(
    notes: Notebook, start: Start, prompts: Sequence[Prompt], length: int, found: dict[str, list[Asked]]
) -> SkippyError | None:
    """Ask one system everything; what stopped it is noted and returned."""
    try:
        _ask(notes, start, prompts, length, found)
    except SkippyError as error:
        notes.note(f"Not measured to its end at {length:,} tokens: {error}")
        return error
    return None


def _ask(
    notes: Notebook, start: Start, prompts: Sequence[Prompt], length: int, found: dict[str, list[Asked]]
) -> None:
    a, b, c = prompts
    system = start()
    try:
        notes.commands.append(f"{system.name}: {system.command}")
        answers = found.setdefault(system.name, [])
        with notes.measuring(f"peers: {system.name}, {length:,} tokens"):
            answers.append(system.ask(a))
            answers.append(system.ask(a))
            answers.append(system.ask(b))
            answers.append(system.ask(a))
            system.keep()
            for prompt in (a, c):
                system.restart()
                answers.append(system.ask(prompt))
    finally:
        system.close()


def _rows(length: int, found: dict[str, list[Asked]]) -> list[tuple[Cell, ...]]:
    return [
        (length, case, name, asked[at].prompt, asked[at].reused, asked[at].first_token)
        for at, case in enumerate(_CASES)
        for name, asked in found.items()
        if at < len(asked)
    ]


def _figures(notes: Notebook, length: int, found: dict[str, list[Asked]]) -> None:
    for name, asked in found.items():
        for case in ("restart, exact replay", "restart, changed tail"):
            at = _CASES.index(case)
            if at < len(asked):
                what = f"{case} at {length:,} tokens, {name}: reused of {asked[at].prompt:,}"
                notes.figure(Figure(what, float(asked[at].reused), "tokens"))


def _plot(notes: Notebook, length: int, rows: Sequence[tuple[Cell, ...]]) -> None:
    series = []
    for name in dict.fromkeys(str(row[2]) for row in rows):
        points = [
            (float(_CASES.index(str(row[1])) + 1), float(row[5] or 0) * 1000)
            for row in rows
            if row[2] == name
        ]
        series.append(line(name, points))
    title = f"Time to the first token at {length:,} tokens"
    notes.plot(Plot("peers", title, "", "milliseconds", tuple(series), log_y=True, categories=_CASES))
