"""The client of a worker process: requests in, events out, and a clear word when the worker is gone or hangs.

Three threads stand between the callers and the pipes, so that no call can block on a worker that is stopped: what is
asked waits in a queue for the writer, what comes waits in a queue for its caller (``exchange``), and the native log is
drained.

Invariant: a request's frames go to that request. One that was given up is stopped, and the next waits for its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, NoReturn, TypeVar, overload

from skippy_chat import errors
from skippy_chat.engine.deaths import describe_death
from skippy_chat.engine.exchange import Call, Exchange, Frame
from skippy_chat.engine.native_log import LogDrain, RotatingLog
from skippy_chat.engine.protocol import (
    PROTOCOL,
    LoadReply,
    LoadRequest,
    ReplayRequest,
    StepReply,
    StepRequest,
    parse_step_reply,
    to_line,
)
from skippy_chat.engine.questions import (
    CheckpointTree,
    Foreseen,
    ForeseeQuestion,
    Measured,
    MeasureQuestion,
    Question,
    Told,
    TreeQuestion,
    parse_told,
)
from skippy_chat.engine.watch import DEFAULT_LIMITS, Limits, Watch
from skippy_chat.errors import EngineDied, NativeError, SkippyError
from skippy_chat.events import Event, from_dict

OnProgress = Callable[[str, int, int], None]
T = TypeVar("T")

WORKER = (sys.executable, "-m", "skippy_chat.engine.worker")
_LOG_TAIL = 12
_SLICE = 0.25
_AFTER_THE_END = 5.0
_LONGEST_FRAME = 64 << 20
_GARBAGE = "was ended, because it wrote garbage to its pipe"
_NOTHING: Frame = {}


class EngineClient:
    """One worker process. Any thread may ask; the worker serves one request at a time, side requests last."""

    def __init__(
        self,
        log: Path,
        *,
        command: Sequence[str] = WORKER,
        limits: Limits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the worker; its native log lines go to ``log``, which rotates.

        Raises:
            EngineDied: it does not start.
        """
        self._log = log
        self._limits = limits
        self._clock = clock
        self._cause = ""
        self._releasing = threading.Lock()
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [*command, str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Without a debugger's backtrace a crash takes no time, and its reason is the last line of the log.
            env={"GGML_NO_BACKTRACE": "1", **os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._to, self._from, self._words = self._process.stdin, self._process.stdout, self._process.stderr
        self._drain = LogDrain(self._words, RotatingLog(log))
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._exchange = Exchange()
        hello = self._exchange.open()
        self._threads = [
            threading.Thread(target=target, name=f"worker-{name}", daemon=True)
            for name, target in (("requests", self._write), ("frames", self._read))
        ]
        for thread in self._threads:
            thread.start()
        self._greet(hello)

    def _greet(self, call: Call) -> None:
        try:
            hello = self._receive(call, Watch(self._limits))
            if hello["frame"] != "hello" or hello.get("protocol") != PROTOCOL:
                raise EngineDied("The worker speaks another protocol.", "Reinstall: python3 build_llama.py")
            self._exchange.close(call)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the worker runs, as far as can be told without asking it."""
        return self._process.poll() is None and not self._cause

    def death(self) -> EngineDied:
        """Return what there is to say about a worker that is gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_AFTER_THE_END)
        self._drain.finish(_AFTER_THE_END)
        lines = self._drain.last_lines(_LOG_TAIL)
        return describe_death(self._process.returncode, lines, self._log, cause=self._cause)

    def load(self, request: LoadRequest, on_progress: OnProgress) -> LoadReply:
        """Load a model.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        for item in self.loading(request):
            if isinstance(item, LoadReply):
                return item
            on_progress(*item)
        raise AssertionError("a request ends with a reply or an error")

    def loading(self, request: LoadRequest) -> Generator[tuple[str, int, int] | LoadReply, None, None]:
        """Load a model and yield (what, done, total) as it goes; the reply comes last.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        for frame in self._call("request", request, kind=request.kind):
            if frame["frame"] == "progress":
                yield self._understood(frame, lambda each: (each["what"], each["done"], each["total"]))
            elif frame["frame"] == "reply":
                yield self._understood(frame, lambda each: LoadReply(**each["body"]))

    def run(
        self, request: StepRequest | ReplayRequest, *, aside: bool = False
    ) -> Generator[Event | StepReply, None, None]:
        """Run a step and yield its events; the reply comes last. An iterator that is closed before stops its request.

        One ``aside`` waits until nothing else is asked, and stops with a reply that ``gave_way`` when something is.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
            CheckpointError: it is aside, and would cost the conversation its place.
        """
        for frame in self._call("request", request, turn=request.turn, aside=aside, kind=request.kind):
            if frame["frame"] == "event":
                yield self._understood(frame, lambda each: from_dict(each["body"]))
            elif frame["frame"] == "reply":
                yield self._understood(frame, lambda each: parse_step_reply(each["body"]))

    @overload
    def ask(self, question: ForeseeQuestion) -> Foreseen: ...
    @overload
    def ask(self, question: TreeQuestion) -> CheckpointTree: ...
    @overload
    def ask(self, question: MeasureQuestion) -> Measured: ...
    def ask(self, question: Question) -> Told:
        """Ask about the cache and wait for the answer, which no step has to be waited for; from any thread.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        for frame in self._call("request", question, aside=True, kind=question.kind):
            if frame["frame"] == "reply":
                return self._understood(frame, lambda each: parse_told(question, each["body"]))
        raise AssertionError("a request ends with a reply or an error")

    def flush(self) -> Iterator[Event]:
        """Wait until all checkpoints are durable; yield what is told meanwhile."""
        for frame in self._call("flush"):
            if frame["frame"] == "event":
                yield self._understood(frame, lambda each: from_dict(each["body"]))

    def cancel(self, turn: str | None = None) -> None:
        """Stop the requests of a turn, or all but those aside; safe from any thread, and when the worker is gone."""
        for number in self._exchange.numbers(turn):
            self._stop(number)

    def close(self) -> None:
        """Let the worker finish recording and end; safe to call twice."""
        if self._process.poll() is None:
            self._outbox.put(None)
            left = self._limits.goodbye
            while left > 0:  # late events pass by: what they tell is on disk
                began = self._clock()
                if self._exchange.ended.wait(_SLICE):
                    break
                left -= min(self._clock() - began, _SLICE)
            self._end(_AFTER_THE_END if left > 0 else 0.0)
        self._release()

    def kill(self) -> None:
        """End the worker at once."""
        self._process.kill()
        self._release()

    def _end(self, patience: float) -> None:
        """Wait for the process so many seconds, and end it then."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        if self._process.poll() is None:
            self._process.kill()

    def _release(self) -> None:
        with self._releasing:
            self._outbox.put(None)
            self._process.wait()
            for thread in self._threads:
                thread.join(_AFTER_THE_END)
            # A pipe that something else still holds open is left to its thread.
            done = [not thread.is_alive() for thread in self._threads]
            pipes = (self._to, self._from, self._words)
            for pipe in compress(pipes, [*done, self._drain.finish(_AFTER_THE_END)]):
                with contextlib.suppress(OSError):
                    pipe.close()

    def _call(
        self, frame: str, body: Any = None, *, turn: str = "", aside: bool = False, **more: Any
    ) -> Iterator[Frame]:
        """Ask something and yield the frames that answer it, the reply last."""
        call = self._exchange.open(turn=turn, aside=aside)
        try:
            if aside:
                more["aside"] = True
            self._outbox.put(to_line(frame, body, id=call.number, **more))
            watch = Watch(self._limits)
            while True:
                answer = self._receive(call, watch)
                if answer["frame"] == "error":
                    raise _told(answer)
                yield answer
                if answer["frame"] == "reply":
                    return
        finally:
            if self._exchange.close(call):
                self._stop(call.number)

    def _stop(self, number: int) -> None:
        self._outbox.put(to_line("cancel", request=number))

    def _receive(self, call: Call, watch: Watch) -> Frame:
        """Wait for a call's next frame.

        Raises:
            EngineDied: the worker is gone; one that hangs is ended for it.
        """
        while True:
            began = self._clock()
            frame: Frame | None = _NOTHING
            with contextlib.suppress(queue.Empty):
                frame = call.frames.get(timeout=_SLICE)
            watch.waited(min(self._clock() - began, _SLICE))
            self._exchange.look(call, watch)
            if frame is None:
                raise self.death()
            if frame is not _NOTHING:
                return frame
            if watch.verdict:
                self._give_up(f"was ended, because it {watch.verdict}")

    def _give_up(self, cause: str) -> NoReturn:
        self._cause = self._cause or cause
        self._process.kill()
        raise self.death()

    def _understood(self, frame: Frame, read: Callable[[Frame], T]) -> T:
        try:
            return read(frame)
        except (KeyError, TypeError, ValueError):
            self._give_up(_GARBAGE)

    def _write(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (line := self._outbox.get()) is not None:
                self._to.write(line)
                self._to.flush()
        with contextlib.suppress(OSError, ValueError):
            self._to.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (line := self._from.readline(_LONGEST_FRAME)) and (
                line.endswith(b"\n") or len(line) == _LONGEST_FRAME
            ):
                frame = _parsed(line)
                if frame is None:
                    # Ended here and now, so that it shows even when nobody waits for a frame.
                    self._cause = _GARBAGE
                    self._process.kill()
                    break
                self._exchange.deliver(frame)
        self._exchange.end()


def _parsed(line: bytes) -> Frame | None:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(frame, dict) or not isinstance(frame.get("frame"), str):
        return None
    if frame["frame"] == "beat" and not isinstance(frame.get("processor"), (int, float)):
        return None
    if not isinstance(frame.get("id"), (int, type(None))):
        return None
    return frame


def _told(frame: Frame) -> SkippyError:
    kind = getattr(errors, str(frame.get("fault")), NativeError)
    if not (isinstance(kind, type) and issubclass(kind, SkippyError)):
        kind = NativeError
    return kind(str(frame.get("message", "")), str(frame.get("hint", "")))
