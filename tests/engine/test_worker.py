"""The worker's own threads, on a pipe of the test's and an engine that says what it is asked."""

from __future__ import annotations

import io
import json
import os
import threading
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from skippy_chat.engine.protocol import StepReply, StepRequest, to_line
from skippy_chat.engine.worker import Worker
from skippy_chat.events import Event, PrefillStarted
from skippy_chat.sampling import Sampling

REQUEST = StepRequest("s", "t", [{"role": "user", "content": "hi"}], Sampling(temperature=0.0))


class Engine:
    """Forgets earlier wishes when a step begins, as the real one does, and waits for one before that."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.wish = threading.Event()
        self.lane = self
        self.cleared = 0
        self.closed = False
        self.fails = fails

    def step(self, request: StepRequest, emit: Callable[[Event], None]) -> StepReply:
        if self.fails is not None:
            raise self.fails
        assert self.wish.wait(30)
        self.wish.clear()
        emit(PrefillStarted(prompt=1))
        return StepReply("", "cancelled" if self.wish.is_set() else "stop", array("i"), 0, [])

    def cancel(self, patience: float = 0.0) -> None:
        self.wish.set()

    def clear(self) -> None:
        self.cleared += 1

    def close(self) -> None:
        self.closed = True


def serve(engine: Engine, *lines: bytes, last: str) -> list[dict[str, Any]]:
    """Run a worker on ``lines`` until it has sent a frame of the kind ``last``; return the frames but for beats."""
    read, write = os.pipe()
    answers, sink = os.pipe()
    frames = []
    with os.fdopen(read, "rb") as source, os.fdopen(sink, "wb") as out, os.fdopen(answers, "rb") as back:
        worker = Worker(source, out, lambda: 0, lambda: 0.0, "worker.log")
        worker._engine = engine
        thread = threading.Thread(target=worker.run)
        thread.start()
        with os.fdopen(write, "wb") as end:
            end.write(b"".join(lines))
            end.flush()
            while (frame := json.loads(back.readline()))["frame"] != last:
                frames.append(frame)
            frames.append(frame)
        thread.join(30)
        assert not thread.is_alive()
        assert engine.closed
    return [each for each in frames if each["frame"] != "beat"]


def asked(number: int) -> bytes:
    return to_line("request", REQUEST, kind=REQUEST.kind, id=number)


def test_a_cancel_that_comes_before_its_step_begins_is_not_lost() -> None:
    frames = serve(Engine(), asked(1), to_line("cancel", request=1), last="reply")
    assert frames[-1]["body"]["finish_reason"] == "cancelled"


def test_a_cancel_for_an_earlier_step_stops_no_later_one() -> None:
    frames = serve(Engine(), asked(2), to_line("cancel", request=1), last="reply")
    assert frames[-1]["body"]["finish_reason"] == "stop"


def test_after_a_failure_nobody_expected_the_lane_is_emptied(capfd: pytest.CaptureFixture[str]) -> None:
    engine = Engine(fails=MemoryError("no room"))
    frames = serve(engine, asked(1), last="error")
    assert "MemoryError: no room" in frames[-1]["message"]
    assert engine.cleared == 1
    assert "Traceback" in capfd.readouterr().err


def test_garbage_from_the_client_ends_the_worker() -> None:
    frames = serve(Engine(), b"what is this\n", last="error")
    assert "garbage" in frames[-1]["message"]


def test_beats_tell_the_processor_time() -> None:
    source, out = io.BytesIO(), io.BytesIO()
    worker = Worker(source, out, lambda: 0, lambda: 12.5, "worker.log")
    worker._ended.wait = lambda timeout=None: bool(out.getvalue())  # type: ignore[method-assign]
    worker._beat()
    assert json.loads(out.getvalue()) == {"frame": "beat", "processor": 12.5}
