"""Proves one model file in processes of its own, so that a native abort costs that file only.

The first process tries every way back and records checkpoints on disk; a second one, new, resumes from them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gguf import GGUFReader

from skippy_chat.checkpoints.recording import Pending
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Identity, Node
from skippy_chat.engine.lane import BY_PARTS, Lane
from skippy_chat.engine.proving import Finding, Prover, Reference
from skippy_chat.native.context import Context, ContextOptions, MemoryClass
from skippy_chat.native.library import load
from skippy_chat.native.model import Model

RUNS = ((256, False), (44, False), (20, True), (30, False), (9, False), (5, True), (12, False), (100, False))
"""Long and short batches and single steps; 256, 44 and 100 are longer than the tiny models' sliding windows."""

SHORT_RUNS = ((100, False), (44, False), (20, True), (30, False), (9, False), (5, True), (12, False))
"""For models that learned one embedding per position, of which the tiny ones have 256."""

SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class Setting:
    """How a model is run."""

    flash_attention: str = "on"
    threads: int = 1
    threads_later: int = 1
    """In the new process, where it also replays."""
    lanes: int = 2
    kv_type: str = "f16"
    n_ctx: int = 1024
    runs: tuple[tuple[int, bool], ...] = RUNS


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found for one model file."""

    memory: str
    """The memory class in lower case, "" when the model was not loaded."""
    findings: tuple[Finding, ...]
    abort: str = ""

    @property
    def method(self) -> str:
        """Say how its state is kept: range, blob, or off."""
        if self.fault or self.memory in ("", "none"):
            return "off"
        return "range" if MemoryClass[self.memory.upper()] in BY_PARTS else "blob"

    @property
    def fault(self) -> str:
        """The first thing that failed, "" for none."""
        return self.abort or next((f"{each.what}: {each.fault}" for each in self.findings if each.fault), "")


def prove(path: Path, root: Path, setting: Setting | None = None) -> Proof:
    """Try every way back on one model; ``root`` is a folder for its checkpoints."""
    chosen = setting or Setting()
    memory, findings, reference = _apart(_in_one_process, path, root, chosen)
    if isinstance(memory, BaseException):
        return Proof("", (), str(memory))
    if memory == "none":
        return Proof(memory, ())
    second = _apart(_in_another, path, root, chosen, reference)
    return Proof(memory, (*findings, *second))


@contextlib.contextmanager
def _opened(path: Path, setting: Setting, lanes: int, threads: int) -> Iterator[tuple[Context, Prover]]:
    model = Model(load(), path)
    options = ContextOptions(
        setting.n_ctx * lanes, 256, 256, threads, setting.flash_attention, setting.kv_type, lanes
    )
    context = Context(model, options)
    try:
        yield (
            context,
            Prover(context, SHORT_RUNS if _learned_positions(path) else setting.runs),
        )
    finally:
        context.close()
        model.close()


def _learned_positions(path: Path) -> bool:
    return any(tensor.name == "position_embd.weight" for tensor in GGUFReader(path).tensors)


def _in_one_process(path: Path, root: Path, setting: Setting) -> tuple[str, list[Finding], Reference | None]:
    findings: list[Finding] = []
    if setting.lanes > 1:
        # A window's state names the number of lanes, so what goes to disk is taken from a context of one.
        with _opened(path, setting, setting.lanes, setting.threads) as (context, prover):
            if context.memory_class is MemoryClass.NONE:
                return "none", [], None
            findings += prover.prove(setting.lanes)
    with _opened(path, setting, 1, setting.threads) as (context, prover):
        if setting.lanes == 1:
            findings += prover.prove()
        reference = prover.compute(Lane(context))
        _record(_store(root, path), reference)
        return context.memory_class.name.lower(), findings, reference


def _in_another(path: Path, root: Path, setting: Setting, reference: Reference) -> list[Finding]:
    with _opened(path, setting, 1, setting.threads_later) as (context, prover):
        cut = len(reference.held) - 2
        node = _find(_store(root, path), reference, cut)
        if node is None:
            return [Finding("disk, new process", "nothing was found")]
        lane = Lane(context)
        with _store(root, path).map(node, state=lane.has_partial_state) as mapped:
            found = prover.from_parts(lane, reference, cut, "disk, new process", mapped)
        return [found, prover.replay(lane, reference)]


def _store(root: Path, path: Path) -> CheckpointStore:
    return CheckpointStore.open(root, Identity.of(model=path.name), budget_bytes=1 << 32, now=lambda: 0.0)


def _record(store: CheckpointStore, reference: Reference) -> None:
    recording = store.recording()
    above: Node | Pending | None = None
    for held in reference.held:
        kv = held.kv[-1][2] if held.kv else None
        above = recording.add(above, held.edges[-1].edge, kv=kv, state=held.state, logits=None)
    recording.commit()


def _find(store: CheckpointStore, reference: Reference, cut: int) -> Node | None:
    node: Node | None = None
    for planned in reference.held[cut - 1].edges:
        node = store.child(node, planned.edge)
        if node is None:
            return None
    return node


def _apart(work: Callable[..., Any], *given: Any) -> Any:
    """Run ``work`` in a process of its own and return what it gave, or what ended it as a RuntimeError."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__, "tests.architectures.served"])
    here, there = server.Pipe(duplex=False)
    process = server.Process(target=_child, args=(there, work, given))
    process.start()
    there.close()
    try:
        if here.poll(SECONDS):
            with contextlib.suppress(EOFError):
                return pickle.loads(here.recv_bytes())
            process.join(10)
            return _ended(work, f"llama.cpp ended the process ({process.exitcode})")
        process.kill()
        return _ended(work, f"nothing came within {SECONDS:.0f} s")
    finally:
        process.join(10)


def _ended(work: Callable[..., Any], why: str) -> Any:
    if work is _in_one_process:
        return RuntimeError(why), [], None
    return [Finding("disk, new process", why)]


def _child(pipe: Connection, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):  # a native abort prints to both
        os.dup2(silent, descriptor)
    try:
        result = work(*given)
    except Exception as error:  # noqa: BLE001 - whatever it was is the finding
        result = _ended(work, f"{type(error).__name__}: {error}")
    pipe.send_bytes(pickle.dumps(result))
    pipe.close()
    os._exit(0)
