"""Ends a worker at a chosen moment, as by kill -9, or starts one that can write next to nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.errors import EngineDied
from skippy_chat.events import Event, PrefillProgress, TextDelta
from skippy_chat.gate.phases.damage import forget
from skippy_chat.gate.stage import Stage, Worker
from skippy_chat.gate.talk import Talk

READING = "while it reads"
ANSWERING = "while it answers"
WRITING = "while a file is written"
AFTER = "right after its answer"
MOMENTS = (READING, ANSWERING, WRITING, AFTER)

_PARTIAL = "*.part"
"""A segment file that is being written; it gets its name when it is durable."""


def kill_at(stage: Stage, asked: Talk, moment: str) -> str:
    """Ask, and kill the worker at ``moment``; return what was seen then, empty when the moment did not come.

    What was recorded before is removed first, so that there is something to read and to write each time.
    """
    stage.stop()
    forget(stage.folder)
    worker = stage.start()
    if moment == WRITING:
        seen = _killed_while_writing(stage, worker, asked)
    else:
        seen = ""
        for item in worker.run(_request(asked, moment)):
            seen = _seen(moment, item)
            if seen:
                break
    stage.kill()
    return seen


def _seen(moment: str, item: Event | StepReply) -> str:
    """Return what is going on, if ``item`` says that the moment has come."""
    if moment == READING and isinstance(item, PrefillProgress):
        return f"after {item.done} of {item.total} tokens"
    if moment == ANSWERING and isinstance(item, TextDelta):
        return "at a word of the answer"
    if moment == AFTER and isinstance(item, StepReply):
        return "with its recording under way"
    return ""


def _killed_while_writing(stage: Stage, worker: Worker, asked: Talk) -> str:
    killed = threading.Event()
    try:
        with _watching(stage.folder, worker, killed):
            for _ in worker.run(_request(asked, WRITING)):
                pass
            for _ in worker.flush():
                pass
    except EngineDied:
        if not killed.is_set():
            raise
    return "with a file half written" if killed.is_set() else ""


def _request(asked: Talk, moment: str) -> StepRequest:
    return asked.request(moment)


def can_cramp() -> bool:
    """Whether this system can limit the size of files."""
    return importlib.util.find_spec("resource") is not None


def cramped_command(size: int) -> tuple[str, ...]:
    """Return how to start a worker that can write no file beyond ``size`` bytes."""
    return (sys.executable, "-m", "skippy_chat.gate.cramped", str(size))


@contextlib.contextmanager
def _watching(folder: Path, worker: Worker, killed: threading.Event) -> Iterator[None]:
    """Kill the worker as soon as a file is being written, as long as the block runs."""
    ended = threading.Event()

    def watch() -> None:
        find = _finder(folder)
        while not ended.is_set():
            if find():
                killed.set()
                os.kill(worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
                return

    thread = threading.Thread(target=watch, name="killer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _finder(folder: Path) -> Callable[[], bool]:
    """Return a quick look for a file being written: the folders are known once they are there."""
    places: list[Path] = []

    def find() -> bool:
        if not places:
            places.extend(place for place in folder.rglob("tmp") if place.is_dir())
        return any(True for place in places for _ in place.glob(_PARTIAL))

    return find
