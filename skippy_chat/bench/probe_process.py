"""The measuring process: the product's own engine, loaded here, restored again and again with a clock beside it.

A request comes on standard input, the reply goes to standard output as the last line. Invariant: what is timed is
the code that every step runs (``Resumer.resume``), and a restore that was not one is an error, not a figure.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from blake3 import blake3

from skippy_chat.bench.probe import ProbeReply, ProbeRequest, parse_request
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Node
from skippy_chat.engine.engine import Engine
from skippy_chat.engine.ids import prompt_of_ids
from skippy_chat.engine.loading import load_engine
from skippy_chat.engine.planning import Match, Prompt, find
from skippy_chat.engine.rendering import Answer
from skippy_chat.engine.resume import Resumer, StoreTree
from skippy_chat.errors import CheckpointError, NativeError

T = TypeVar("T")
Clock = Callable[[], float]


def measure(request: ProbeRequest, clock: Clock) -> ProbeReply:
    """Load the model and measure.

    Raises:
        SkippyError: the model does not load, or the conversation is not restored whole.
    """
    load, loaded = _timed(clock, lambda: load_engine(request.load, lambda *_: None))
    engine = loaded.engine
    try:
        return _measure(request, engine, load, clock)
    finally:
        engine.close()


def _measure(request: ProbeRequest, engine: Engine, load: float, clock: Clock) -> ProbeReply:
    store = engine.store
    if store is None:
        hint = f"See: skippy-chat models check {engine.model.path}"
        raise CheckpointError("There is no checkpoint store to restore from.", hint)
    rendered = [_timed(clock, lambda: _prompt(request, engine)) for _ in range(3)]
    prompt = rendered[-1][1]
    first = _restore(engine, store, prompt, clock)
    row, state = engine.lane.attention_row_bytes(), engine.lane.partial_state_bytes()
    flat = Path(request.scratch)
    size, files = _flatten(engine, store, prompt, flat)
    reply = ProbeReply(
        prompt=len(prompt.ids),
        size=size,
        files=files,
        load=load,
        first=first,
        render=[seconds for seconds, _ in rendered],
        restore=[],
        floor=[],
        lookup=[],
        verify=[],
        put=[],
        row=_row_bytes(engine, row),
        state=state,
        logits=4 * engine.model.n_vocab,
    )
    try:
        _floor(flat, clock)  # once unmeasured: a file just written may not be settled
        for number in range(request.pairs):
            for floor in (True, False) if number % 2 else (False, True):
                if floor:
                    reply.floor.append(_floor(flat, clock))
                else:
                    reply.restore.append(_restore(engine, store, prompt, clock))
            _parts(engine, store, prompt, clock, reply)
    finally:
        flat.unlink(missing_ok=True)
    return reply


def _prompt(request: ProbeRequest, engine: Engine) -> Prompt:
    answers = {index: Answer(answer.ids, answer.fed) for index, answer in request.answers.items()}
    if request.by_ids:
        return prompt_of_ids(request.messages, answers)
    return engine.renderer.render(list(request.messages), answers, now=0, thinking=False)


def _restore(engine: Engine, store: CheckpointStore, prompt: Prompt, clock: Clock) -> float:
    """Restore into an empty lane, from looking up to having the logits; return the seconds."""
    engine.lane.clear()
    told: list[object] = []
    seconds, resumed = _timed(clock, lambda: Resumer(engine.lane, store).resume(prompt, told.append))
    if resumed.position != len(prompt.ids) or resumed.logits is None or resumed.source != "disk":
        raise NativeError(
            f"Only {resumed.position} of {len(prompt.ids)} tokens were restored, from {resumed.source}: "
            f"{resumed.miss or told}."
        )
    return seconds


def _parts(engine: Engine, store: CheckpointStore, prompt: Prompt, clock: Clock, reply: ProbeReply) -> None:
    """Time the three parts of a restore, one by one."""
    engine.lane.clear()
    lookup, match = _timed(clock, lambda: _find(engine, store, prompt))
    node = _node(match)
    verify, mapped = _timed(
        clock, lambda: store.map(node, kv_from=0, state=engine.lane.has_partial_state, logits=True)
    )
    with mapped:
        put, _none = _timed(clock, lambda: engine.lane.restore(mapped, match.edges))
    reply.lookup.append(lookup)
    reply.verify.append(verify)
    reply.put.append(put)


def _find(engine: Engine, store: CheckpointStore, prompt: Prompt) -> Match[Node]:
    return find(StoreTree(store, engine.lane), prompt)


def _node(match: Match[Node]) -> Node:
    assert match.node is not None, "it was restored before"
    return match.node


def _flatten(engine: Engine, store: CheckpointStore, prompt: Prompt, flat: Path) -> tuple[int, int]:
    """Write the bytes that a restore needs into one file; return how many they are, and of how many files."""
    node = _node(_find(engine, store, prompt))
    with store.map(node, kv_from=0, state=engine.lane.has_partial_state, logits=True) as mapped:
        views = [rows for _, _, rows in mapped.kv]
        views += [view for view in (mapped.state, mapped.logits) if view is not None]
        with flat.open("wb") as file:
            for view in views:
                file.write(view)
        size, files = sum(len(view) for view in views), mapped.files
        views.clear()
        return size, files


def _floor(flat: Path, clock: Clock) -> float:
    """Read the same bytes into a fresh buffer and hash them once; return the seconds."""
    began = clock()
    with flat.open("rb", buffering=0) as file:
        # Anonymous pages, not a bytearray: that one is filled with zeros first, which would flatter the comparison.
        fresh = mmap.mmap(-1, flat.stat().st_size)
        view, at = memoryview(fresh), 0
        while at < len(fresh) and (count := file.readinto(view[at:])):
            at += count
        blake3(view).digest()
    seconds = clock() - began
    assert at == len(fresh), "the whole file is read"
    view.release()
    fresh.close()
    return seconds


def _row_bytes(engine: Engine, one: int) -> float:
    """Return the bytes of a token's rows as a long range has them, so that the range's own head does not count."""
    position = engine.lane.position
    if not one or position < 2:
        return float(one)
    size = engine.context.range_size
    return (size(0, position, 0) - size(0, 1, 0)) / (position - 1)


def _timed(clock: Clock, work: Callable[[], T]) -> tuple[float, T]:
    began = clock()
    done = work()
    return clock() - began, done


def main() -> int:
    """Answer one request on standard input."""
    reply = measure(parse_request(sys.stdin.read()), time.perf_counter)
    sys.stdout.write(json.dumps(dataclasses.asdict(reply)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
