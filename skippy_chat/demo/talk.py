"""The main job, unattended: a conversation ends, and new processes go on with it from disk.

Run as ``python -m skippy_chat.demo``. Every part is a process of its own, so nothing can survive in memory; the
numbers in the table are the product's own events, and the last line says whether they are what was promised.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.agent.protocol import Conversation, ReplayReport
from skippy_chat.config import load_settings
from skippy_chat.errors import SkippyError
from skippy_chat.events import Event, StepFinished, TextDelta
from skippy_chat.paths import Paths

SESSION = "demo"
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo, or one part of it (``--part``, as a child process)."""
    parser = argparse.ArgumentParser(prog="skippy_chat.demo", description=__doc__)
    parser.add_argument("--part", choices=("talk", "again", "cold"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args(arguments)
    try:
        if options.part:
            for row in _run_part(options.part, options.folder, options.model, options.threads):
                print(json.dumps(dataclasses.asdict(row)), flush=True)
            return 0
        return _show(options)
    except SkippyError as error:
        print(f"demo: {error}", file=sys.stderr)
        return error.exit_code


def _show(options: argparse.Namespace) -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skippy-chat-demo-") as name:
        rows = []
        for part, says in (
            ("talk", "A conversation over a system prompt of about 1,000 tokens:"),
            ("again", "That process has ended. A new one goes on, with what is on disk:"),
            ("cold", "The same three requests with --no-cache, in another process:"),
        ):
            print(f"\n{says}\n", flush=True)
            for row in _child(part, Path(name), options):
                print(f"  {row.what}\n    {' '.join(row.text.split())}\n", flush=True)
                rows.append(row)
    _table(rows)
    print(
        "\nThe changed answer was computed again from scratch, by its ledger: the same ids.\n"
        "Without the cache its words may differ: there the earlier answers are read, here they are as they were\n"
        "generated, and those are other sums (README, 7)."
        if all(row.replayed is not False for row in rows)
        else ""
    )
    faults = _faults(rows)
    for fault in faults:
        print(f"NOT as promised: {fault}")
    print(f"\n{'Failed' if faults else 'All as promised'}; the demo took {time.monotonic() - started:.0f} s.")
    return 1 if faults else 0


def _child(part: str, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    command = [sys.executable, "-m", "skippy_chat.demo", "--part", part, "--folder", str(folder)]
    if options.model:
        command += ["--model", options.model]
    if options.threads:
        command += ["--threads", str(options.threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Row(**json.loads(line))
    if process.returncode:
        raise SkippyError(
            f"The part {part!r} failed with code {process.returncode}.", "Its message is above."
        )


def _run_part(part: str, folder: Path, model: str | None, threads: int | None) -> Iterator[Row]:
    from skippy_chat.agent.opening import ConversationOptions, open_conversation  # noqa: PLC0415 - children only

    own = Paths.resolve(env=dict(os.environ))
    # History and checkpoints of the demo are its own; models are shared, because making one takes a while.
    paths = dataclasses.replace(own, data_dir=folder / "data")
    flags: dict[str, object] = {
        "model": model,
        "threads": threads,
        "temperature": 0.0,
        "max_tokens": MAX_TOKENS,
        "system": system_prompt(),
        "cache": part != "cold",
        "ctx": 4096,
    }
    chat = open_conversation(
        ConversationOptions(
            paths, load_settings(flags=flags), folder, session=SESSION, checkpoints=folder / "tree"
        ),
        on_progress=_progress,
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


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(
            f"\r{what} {done * 100 // max(total, 1)} %\033[K",
            end="\r" if done < total else "\r\033[K",
            file=sys.stderr,
        )


def _table(rows: Sequence[Row]) -> None:
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


def _faults(rows: Sequence[Row]) -> list[str]:
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


if __name__ == "__main__":
    sys.exit(main())
