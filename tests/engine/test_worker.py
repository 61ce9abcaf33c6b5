"""The worker's own threads, on a pipe of the test's and an engine that says what it is asked."""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from skippy_chat.engine.protocol import StepReply, StepRequest, to_line
from skippy_chat.engine.questions import Foreseen, ForeseeQuestion, Question
from skippy_chat.engine.waiting import GIVE_WAY_SECONDS
from skippy_chat.engine.worker import Worker
from skippy_chat.errors import CheckpointError
from skippy_chat.events import Event, PrefillStarted
from skippy_chat.sampling import Sampling

REQUEST = StepRequest("s", "t", [{"role": "user", "content": "hi"}], Sampling(temperature=0.0))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not end in time ends its process, which here is the one that runs the tests."""
    monkeypatch.setattr("skippy_chat.engine.worker.STEP_GRACE_SECONDS", 600.0)
    monkeypatch.setattr("skippy_chat.engine.worker.RECORDING_GRACE_SECONDS", 600.0)


class Engine:
    """Forgets earlier wishes when a step begins, as the real one does; ``hold`` makes a step wait to be stopped.

    It is its own lane, which holds nothing unless a test says so.
    """

    def __init__(self, fails: Exception | None = None, *, hold: bool = False) -> None:
        self.wish = threading.Event()
        self.began = threading.Event()
        self.lane = self
        self.store = None
        self.position = 0
        self.edges: list[object] = []
        self.cleared = self.flushed = 0
        self.closed = False
        self.fails = fails
        self.hold = hold
        self.patience: list[float] = []
        self.ran: list[str] = []

    def step(self, request: StepRequest, emit: Callable[[Event], None]) -> StepReply:
        if self.fails is not None:
            raise self.fails
        self.ran.append(request.turn)
        self.wish.clear()
        emit(PrefillStarted(prompt=1))
        self.began.set()
        if self.hold:
            assert self.wish.wait(30)
            self.hold = False
        return StepReply("", "cancelled" if self.wish.is_set() else "stop", array("i"), 0, [])

    def cancel(self, patience: float = 9.0) -> None:
        self.patience.append(patience)
        self.wish.set()

    def flush(self) -> None:
        self.flushed += 1

    def clear(self) -> None:
        self.cleared += 1

    def close(self) -> None:
        self.closed = True


class Pipe:
    """A worker on a thread, and the ends of its pipes."""

    def __init__(self, engine: Engine, outlook: Outlook | None = None) -> None:
        read, write = os.pipe()
        answers, sink = os.pipe()
        self._source, self._out = os.fdopen(read, "rb"), os.fdopen(sink, "wb")
        self._to, self._back = os.fdopen(write, "wb"), os.fdopen(answers, "rb")
        self.engine = engine
        worker = Worker(self._source, self._out, lambda: 0, lambda: 0.0, time.monotonic, "worker.log")
        worker._engine = engine
        worker._outlook = outlook
        self._thread = threading.Thread(target=worker.run)
        self._thread.start()

    def ask(self, *lines: bytes) -> None:
        self._to.write(b"".join(lines))
        self._to.flush()

    def answer(self) -> dict[str, Any]:
        """Return the next reply or error."""
        while (frame := json.loads(self._back.readline()))["frame"] not in ("reply", "error"):
            pass
        assert isinstance(frame, dict)
        return frame

    def end(self) -> None:
        self._to.close()
        self._thread.join(30)
        assert not self._thread.is_alive()
        assert self.engine.closed
        for end in (self._source, self._out, self._back):
            end.close()


@contextlib.contextmanager
def serving(engine: Engine, outlook: Outlook | None = None) -> Iterator[Pipe]:
    pipe = Pipe(engine, outlook)
    try:
        yield pipe
    finally:
        pipe.end()


def asked(number: int, *, aside: bool = False) -> bytes:
    request = replace(REQUEST, turn=str(number))
    return to_line("request", request, kind=request.kind, id=number, aside=aside)


def test_a_cancel_stops_the_step_it_names() -> None:
    with serving(Engine(hold=True)) as pipe:
        pipe.ask(asked(1))
        assert pipe.engine.began.wait(30)
        pipe.ask(to_line("cancel", request=1))
        frame = pipe.answer()
    assert (frame["id"], frame["body"]["finish_reason"]) == (1, "cancelled")


def test_a_cancel_that_comes_before_its_step_begins_is_not_lost() -> None:
    with serving(Engine(hold=True)) as pipe:
        pipe.ask(asked(1), asked(2), to_line("cancel", request=2), to_line("cancel", request=1))
        frames = [pipe.answer(), pipe.answer()]
    assert [(each["id"], each["body"]["finish_reason"]) for each in frames] == [
        (1, "cancelled"),
        (2, "cancelled"),
    ]


def test_a_cancel_for_an_earlier_step_stops_no_later_one() -> None:
    with serving(Engine()) as pipe:
        # A step runs until the worker asks for the next, a moment after the reply; that the second is over tells so.
        pipe.ask(asked(1))
        pipe.answer()
        pipe.ask(asked(2))
        pipe.answer()
        pipe.ask(to_line("cancel", request=1), asked(3))
        frame = pipe.answer()
    assert (frame["id"], frame["body"]["finish_reason"]) == (3, "stop")
    assert 9.0 not in pipe.engine.patience  # nothing was stopped but for the end


def test_the_conversation_goes_first_and_a_side_request_gives_way() -> None:
    with serving(Engine(hold=True)) as pipe:
        pipe.ask(asked(1, aside=True))
        assert pipe.engine.began.wait(30)
        pipe.ask(asked(2, aside=True), asked(3))
        frames = [pipe.answer() for _ in range(3)]
    assert [each["id"] for each in frames] == [1, 3, 2]
    assert [each["body"]["finish_reason"] for each in frames] == ["cancelled", "stop", "stop"]
    assert [each["body"]["gave_way"] for each in frames] == [True, False, False]
    assert pipe.engine.patience[0] == GIVE_WAY_SECONDS


def test_a_side_request_that_is_stopped_did_not_give_way() -> None:
    with serving(Engine(hold=True)) as pipe:
        pipe.ask(asked(1, aside=True))
        assert pipe.engine.began.wait(30)
        pipe.ask(to_line("cancel", request=1))
        frame = pipe.answer()
    assert (frame["body"]["finish_reason"], frame["body"]["gave_way"]) == ("cancelled", False)


def test_a_side_request_that_was_given_up_is_not_begun() -> None:
    with serving(Engine(hold=True)) as pipe:
        pipe.ask(asked(1))
        assert pipe.engine.began.wait(30)
        pipe.ask(asked(2, aside=True), to_line("cancel", request=2))
        dropped = pipe.answer()
        pipe.ask(to_line("cancel", request=1))
        assert pipe.answer()["id"] == 1
    assert (dropped["frame"], dropped["id"]) == ("error", 2)
    assert pipe.engine.ran == ["1"]


def test_the_lane_is_not_left_when_coming_back_would_cost_a_prefill() -> None:
    engine = Engine()
    engine.position = 7  # and no store
    with serving(engine) as pipe:
        pipe.ask(asked(1, aside=True))
        frame = pipe.answer()
        pipe.ask(asked(2))
        assert pipe.answer()["frame"] == "reply"
    assert (frame["frame"], frame["fault"]) == ("error", "CheckpointError")
    assert "refused" in frame["message"]
    assert engine.ran == ["2"]
    assert engine.flushed == 1  # what waits to be written counts as soon as it is


def test_what_waits_when_the_client_goes_is_not_begun() -> None:
    with serving(Engine(hold=True)) as pipe:
        pipe.ask(asked(1), asked(2))
        assert pipe.engine.began.wait(30)
    assert pipe.engine.ran == ["1"]


def test_after_a_failure_nobody_expected_the_lane_is_emptied(capfd: pytest.CaptureFixture[str]) -> None:
    engine = Engine(fails=MemoryError("no room"))
    with serving(engine) as pipe:
        pipe.ask(asked(1))
        frame = pipe.answer()
    assert "MemoryError: no room" in frame["message"]
    assert engine.cleared == 1
    assert "Traceback" in capfd.readouterr().err


class Outlook:
    """Says where it was asked; ``fails`` instead where a test says so."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails = fails

    def tell(self, question: Question) -> Foreseen:
        if self.fails is not None:
            raise self.fails
        assert isinstance(question, ForeseeQuestion)
        return Foreseen(9, 5, "disk", None, None, 1024)


def wondered(number: int) -> bytes:
    return to_line("request", ForeseeQuestion(REQUEST), kind=ForeseeQuestion.kind, id=number)


def test_a_question_does_not_wait_for_the_step_that_runs() -> None:
    with serving(Engine(hold=True), Outlook()) as pipe:
        pipe.ask(asked(1))
        assert pipe.engine.began.wait(30)
        pipe.ask(wondered(2))
        told = pipe.answer()
        assert (told["frame"], told["id"], told["body"]["cached_tokens"]) == ("reply", 2, 5)
        assert pipe.engine.hold  # the step is still held
        pipe.ask(to_line("cancel", request=1))
        assert pipe.answer()["id"] == 1


def test_a_question_before_there_is_a_model_is_refused() -> None:
    with serving(Engine()) as pipe:
        pipe.ask(wondered(1), asked(2))
        frames = {frame["id"]: frame for frame in (pipe.answer(), pipe.answer())}
    assert (frames[1]["frame"], frames[2]["frame"]) == ("error", "reply")
    assert "no model" in frames[1]["message"]


@pytest.mark.parametrize("fails", [MemoryError("no room"), CheckpointError("The index cannot be read.")])
def test_a_question_that_fails_is_told_and_touches_nothing(
    fails: Exception, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = Engine()
    with serving(engine, Outlook(fails)) as pipe:
        pipe.ask(wondered(1))
        frame = pipe.answer()
        pipe.ask(asked(2))
        assert pipe.answer()["frame"] == "reply"
    assert (frame["frame"], frame["id"]) == ("error", 1)
    assert str(fails) in frame["message"]
    assert engine.cleared == 0
    capfd.readouterr()


def test_garbage_from_the_client_ends_the_worker() -> None:
    with serving(Engine()) as pipe:
        pipe.ask(b"what is this\n")
        frame = pipe.answer()
    assert (frame["id"], "garbage" in frame["message"]) == (None, True)


def test_beats_tell_the_processor_time() -> None:
    source, out = io.BytesIO(), io.BytesIO()
    worker = Worker(source, out, lambda: 0, lambda: 12.5, time.monotonic, "worker.log")
    worker._ended.wait = lambda timeout=None: bool(out.getvalue())  # type: ignore[method-assign]
    worker._beat()
    assert json.loads(out.getvalue()) == {"frame": "beat", "processor": 12.5}
