"""A client that vanishes: its worker ends by itself within seconds, whatever it did, and what it had read is kept."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skippy_chat.engine.client import EngineClient
from skippy_chat.events import PrefillStarted
from tests.engine.test_client import load, request

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
# The worker allows itself 26 seconds, 6 for the step and 20 to record, and is not always given a processor.
WITHIN = 60.0
LONG = [
    {"role": role, "content": f"{number} " + "word " * 150}
    for number in range(4)
    for role in ("user", "assistant")
]

# Runs a step, says its worker's id and that the step has begun, and then only waits to be killed.
CLIENT = """
import sys
from pathlib import Path
from skippy_chat.engine.client import EngineClient
from skippy_chat.events import PrefillProgress, TextDelta
from tests.engine.test_client import load, request
from tests.engine.test_orphans import LONG

model, folder, awaited, *command = sys.argv[1:]
client = EngineClient(Path(folder) / "worker.log", **({"command": command} if command else {}))
load(client, Path(model), Path(folder), context=2048)
messages = [*LONG, {"role": "user", "content": "Go on."}] if awaited == "PrefillProgress" else [
    {"role": "user", "content": "Name the planets."}]
for item in client.run(request(messages, 400)):
    if type(item).__name__ == awaited:
        print(client.pid, flush=True)
        sys.stdin.read()
"""


def vanish(model: Path, folder: Path, awaited: str, *command: str, pipe: Path | None = None) -> float:
    """Kill a client in the middle of a step; return the seconds until its worker has ended.

    ``awaited`` is the event to wait for, and ``pipe`` a named one that something comes through after it.
    """
    arguments = [sys.executable, "-c", CLIENT, str(model), str(folder), awaited, *command]
    with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        worker = int(client.stdout.readline())
        if pipe is not None:
            assert pipe.read_bytes() == b"now"
        with watched(worker) as ended:
            client.kill()
            began = time.monotonic()
            assert ended(WITHIN), "the worker outlives its client"
            return time.monotonic() - began


@contextlib.contextmanager
def watched(pid: int) -> Iterator[Callable[[float], bool]]:
    """Give a function that waits until the process, which is not ours, has ended."""
    if not hasattr(os, "pidfd_open"):  # not Linux: only asking again and again tells

        def asked(seconds: float) -> bool:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    return True
                select.select([], [], [], 0.1)
            return False

        yield asked
        return
    handle = os.pidfd_open(pid)
    try:
        yield lambda seconds: bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def test_while_a_long_prompt_is_read(default_model: Path, tmp_path: Path) -> None:
    assert vanish(default_model, tmp_path, "PrefillProgress") < WITHIN
    client = EngineClient(tmp_path / "worker.log")
    try:
        load(client, default_model, tmp_path, context=2048)
        items = client.run(request([*LONG, {"role": "user", "content": "Go on."}], 1))
        started = next(item for item in items if isinstance(item, PrefillStarted))
    finally:
        client.close()
    assert started.cached > 0  # the messages that had been read were recorded before the worker went


def test_while_an_answer_is_written(default_model: Path, tmp_path: Path) -> None:
    assert vanish(default_model, tmp_path, "TextDelta") < WITHIN


def test_while_native_code_never_returns(default_model: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    os.mkfifo(mark)
    command = (sys.executable, "-m", "tests.engine.faulty_worker", "wait", "3", str(mark))
    assert vanish(default_model, tmp_path, "TextDelta", *command, pipe=mark) < WITHIN
    client = EngineClient(tmp_path / "worker.log")
    try:
        load(client, default_model, tmp_path, context=2048)
        items = list(client.run(request([{"role": "user", "content": "Name the planets."}], 1)))
    finally:
        client.close()
    started = next(item for item in items if isinstance(item, PrefillStarted))
    assert started.cached == started.prompt
