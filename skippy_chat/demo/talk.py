"""A conversation that ends, and is gone on with by another process: the same prompt, a changed tail, another branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.agent.protocol import Conversation, ReplayReport
from skippy_chat.demo.opening import opened
from skippy_chat.events import Event, StepFinished, TextDelta

SESSION = "talk"
MAX_TOKENS = 48
TURNS = (
    "What is the capital of France?",
    "Name one thing a visitor should see there.",
    "How would you get to it from the railway station?",
)
CHANGED = "What should the visitor eat there?"
RULES = (
    "Answer in one or two short sentences, in plain words.",
    "If you do not know something, say so instead of guessing.",
    "Give names of places the way people who live there write them.",
    "Never give prices, opening hours or phone numbers: they change too often.",
    "When somebody asks for a list, give at most three things.",
    "Prefer walking to driving, and trains to planes, when you describe a way.",
    "Mention the weather only when it matters for the plan.",
    "Do not repeat the question before you answer it.",
    "Use metric units, and write small numbers as words.",
    "Be friendly, and do not apologise for being a small model.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; times in seconds."""

    part: str
    what: str
    prompt: int
    cached: int
    prefilled: int
    first_token: float
    source: str
    context: int
    text: str
    replayed: bool | None = None


def system_prompt() -> str:
    """Return a system prompt of about 1,000 tokens: house rules, numbered, for a handful of situations."""
    situations = (
        "a city trip",
        "a hike in the hills",
        "a day by the sea",
        "a museum visit",
        "a long train ride",
        "a rainy Sunday",
    )
    blocks = [
        f"When the talk is about {situation}:\n"
        + "\n".join(f"{number}. {rule}" for number, rule in enumerate(RULES, 1))
        for situation in situations
    ]
    return "You are a travel helper. These are the rules of the house.\n\n" + "\n\n".join(blocks)


def run_talk(part: str, folder: Path, model: str | None, threads: int | None) -> Iterator[Row]:
    """Hold the conversation (``talk``), or do what the second and the third process do (``again``, ``cold``)."""
    chat = opened(
        folder,
        SESSION,
        folder,
        model=model,
        threads=threads,
        max_tokens=MAX_TOKENS,
        system=system_prompt(),
        cache=part != "cold",
    )
    try:
        if part == "talk":
            for text in TURNS:
                yield _row(part, text, chat.send(text))
            return
        last = [message for message in chat.messages() if message.role == "user"][-1]
        branch = chat.messages()[-1].id
        label = "" if part == "again" else " (no cache)"
        yield _row(part, f"the same prompt again{label}", chat.regenerate())
        yield _row(
            part,
            f"the last message changed{label}",
            chat.edit(last.id, CHANGED),
            chat if part == "again" else None,
        )
        chat.switch(branch)
        yield _row(part, f"back on the first branch{label}", chat.regenerate())
        chat.switch(branch)
    finally:
        chat.close()


def _row(part: str, what: str, events: Iterator[Event], replays: Conversation | None = None) -> Row:
    """Run a turn; with ``replays`` compute its answer again from scratch, and note whether the ids are the same."""
    text, finished = [], None
    for event in events:
        if isinstance(event, TextDelta):
            text.append(event.text)
        elif isinstance(event, StepFinished):
            finished = event
    assert finished is not None, "a turn has a step"
    usage = finished.usage
    return Row(
        part,
        what,
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.prefilled_tokens,
        finished.timings.first_token_ms / 1000,
        finished.cache.source,
        usage.context_tokens,
        "".join(text),
        None if replays is None else _same_ids(replays),
    )


def _same_ids(conversation: Conversation) -> bool:
    (report,) = (item for item in conversation.replay() if isinstance(item, ReplayReport))
    return report.same_ids


def print_table(rows: Sequence[Row]) -> None:
    """Print a line for each request, with its first token beside that without the cache."""
    cold = {row.what.removesuffix(" (no cache)"): row for row in rows if row.part == "cold"}
    print(f"{'':<44}{'prompt':>8}{'cached':>8}{'read':>8}{'first token':>13}{'--no-cache':>12}")
    for row in rows:
        if row.part == "cold":
            continue
        what = row.what if len(row.what) <= 42 else row.what[:41] + "…"
        beside = f"{cold[row.what].first_token:>10.2f} s" if row.what in cold else f"{'':>12}"
        print(
            f"{what:<44}{row.prompt:>8,}{row.cached:>8,}{row.prefilled:>8,}{row.first_token:>11.2f} s{beside}"
        )


def talk_faults(rows: Sequence[Row]) -> list[str]:
    """Compare the counts with what must hold after a restart."""
    talk = [row for row in rows if row.part == "talk"]
    exact, changed, back = (row for row in rows if row.part == "again")
    faults = [
        f"{row.what}: {row.cached} of {row.prompt} tokens cached, not all"
        for row in (exact, back)
        if row.cached != row.prompt or row.prefilled
    ]
    # Up to the end of the second answer both prompts are the same.
    if changed.cached < talk[1].context:
        faults.append(f"{changed.what}: {changed.cached} cached, less than the shared {talk[1].context}")
    faults += [
        f"{row.what}: counts do not add up" for row in rows if row.cached + row.prefilled != row.prompt
    ]
    if changed.replayed is not True:
        faults.append("the changed answer, computed again from scratch, has other ids")
    if any(row.text != talk[-1].text for row in (exact, back)):
        faults.append("a resumed answer differs from the one first given")
    return faults
