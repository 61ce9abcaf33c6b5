"""Talk for many turns on a small disk budget and watch bytes and memory: ``python -m scripts.measure_budget``.

A real model, by default the one the product comes with. Between any two system calls of the writer the allocated bytes
are looked at from outside, and every turn's bytes are compared with what was new in it. When the context is full the
next conversation begins, so the budget is written over many times.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.checkpoints import CheckpointStore, Identity, Recorded
from skippy_chat.checkpoints.placement import GRID_TOKENS
from skippy_chat.checkpoints.recording import Recording
from skippy_chat.checkpoints.shelf import allocated as weight
from skippy_chat.engine.engine import Engine
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.engine.rendering import Renderer
from skippy_chat.events import CheckpointFailed, CheckpointRecorded, Event
from skippy_chat.models.resolve import resolve_model
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from skippy_chat.paths import Paths
from skippy_chat.sampling import Sampling

MIB = 1 << 20
TEXT = "the tide comes in twice a day and nobody on the island can say for sure why it does so"


def allocated(root: Path) -> int:
    """Bytes that everything below a folder occupies."""
    return sum(weight(path) for path in (root, *root.rglob("*")))


def resident() -> int:
    """Resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


class Watch(threading.Thread):
    """Looks at a folder all the time and keeps the most it saw."""

    def __init__(self, root: Path) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.looks = 0
        self._root = root
        self._ended = threading.Event()

    def run(self) -> None:
        """Look until stopped."""
        while not self._ended.wait(0.002):
            self.most = max(self.most, allocated(self._root))
            self.looks += 1

    def stop(self) -> None:
        """Stop and wait for the last look."""
        self._ended.set()
        self.join()


@dataclass
class Figures:
    """What was seen, one entry a turn; sizes in bytes."""

    held: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    most: int = 0

    def ratios(self) -> list[float]:
        """Bytes written for each byte that was new, where something was."""
        return [wrote / new for wrote, new in zip(self.written, self.new, strict=True) if new]

    def slope(self, first: int) -> float:
        """Growth of resident memory from turn ``first`` on, in bytes per 100 turns, as a least-squares line."""
        points = list(enumerate(self.resident))[first:]
        middle = sum(x for x, _ in points) / len(points)
        spread = sum((x - middle) ** 2 for x, _ in points)
        return 100 * sum((x - middle) * y for x, y in points) / spread


def new_bytes(recording: Recording) -> int:
    """Rows, states and logits of a recording."""
    blobs = [pending.blobs for pending in recording.added] + [b for _, b in recording.attached.values()]
    return sum(len(blob) for each in blobs for blob in each.values())


def talk(engine: Engine, root: Path, turns: int, seed: int, most: tuple[int, int]) -> Figures:
    """Hold conversations for so many turns; ``most`` words of a message, and tokens of an answer."""
    rng = random.Random(seed)  # noqa: S311 - equal seeds, equal conversations
    figures, events = Figures(), list[Event]()
    sizes: list[int] = []
    commit = Recording.commit

    def counted(recording: Recording) -> Recorded:
        size = new_bytes(recording)
        done = commit(recording)
        sizes.append(size)
        return done

    Recording.commit = counted  # type: ignore[method-assign, assignment]
    messages: list[dict[str, object]] = []
    watch = Watch(root)
    watch.start()
    try:
        for turn in range(turns):
            if not messages:
                messages = [{"role": "system", "content": f"Conversation {turn}. Be brief."}]
            words = " ".join(rng.choices(TEXT.split(), k=rng.randint(10, most[0])))
            messages.append({"role": "user", "content": words})
            events.clear()
            sizes.clear()
            reply = engine.step(
                StepRequest("s", "t", list(messages), Sampling(temperature=0.0), {}, most[1]), events.append
            )
            engine.flush()
            messages.append({"role": "assistant", "content": reply.text})
            if len(reply.ids) > engine.context.n_ctx - 1000:
                messages = []
            recorded = [event for event in events if isinstance(event, CheckpointRecorded)]
            figures.written.append(sum(event.bytes for event in recorded))
            figures.states.append(sum(event.states for event in recorded))
            figures.new.append(sum(sizes))
            figures.failed += [event.reason for event in events if isinstance(event, CheckpointFailed)]
            figures.held.append(allocated(root))
            figures.resident.append(resident())
            print(f"\r{turn + 1} turns", end="", file=sys.stderr, flush=True)
    finally:
        watch.stop()
        Recording.commit = commit  # type: ignore[method-assign]
    figures.most = max(watch.most, *figures.held)
    return figures


def open_engine(model: Path, root: Path, budget: int, context: int, threads: int) -> Engine:
    """Load a model with a store of its own."""
    loaded = Model(load(), model)
    made = Context(loaded, ContextOptions(context, GRID_TOKENS, GRID_TOKENS, threads, "on", "f16"))
    store = CheckpointStore.open(root, Identity.of(model=model.name), budget_bytes=budget, now=time.time)
    return Engine(loaded, made, Renderer(loaded, ChatTemplate(loaded)), store)


def main() -> None:
    """Print what was seen as JSON; exit code 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.measure_budget", description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file; else the default model")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--budget", type=int, default=64, metavar="MIB")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--words", type=int, default=120, help="most words of a message")
    parser.add_argument("--answer", type=int, default=12, help="most tokens of an answer")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    model = chosen.model or resolve_model(
        None, cache_dir=Paths.resolve(env=os.environ).cache_dir, progress=lambda *_: None
    )
    budget = chosen.budget * MIB
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(model, Path(folder) / "c", budget, chosen.context, chosen.threads)
        try:
            seen = talk(engine, Path(folder) / "c", chosen.turns, 1, (chosen.words, chosen.answer))
        finally:
            engine.close()
    ratios = seen.ratios()
    found = {
        "turns": chosen.turns,
        "budget_bytes": budget,
        "most_allocated_bytes": seen.most,
        "written_bytes": sum(seen.written),
        "written_per_new_byte": {
            "mean": round(sum(seen.written) / sum(seen.new), 4),
            "most": round(max(ratios), 4),
        },
        "most_states_in_a_turn": max(seen.states),
        "resident_growth_mib_per_100_turns": round(seen.slope(min(50, chosen.turns // 2)) / MIB, 3),
        "failed": sorted(set(seen.failed)),
    }
    print(json.dumps(found, indent=1))
    kept = seen.most <= budget and max(ratios) <= 1.05 and not seen.failed
    sys.exit(0 if kept and seen.slope(min(50, chosen.turns // 2)) < MIB else 1)


if __name__ == "__main__":
    main()
