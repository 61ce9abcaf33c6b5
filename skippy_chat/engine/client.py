"""The client of a worker process: requests in, events out, and a clear word when the worker is gone or hangs.

Three threads stand between the caller and the pipes, so that no call can block on a worker that is stopped: what is
asked waits in a queue for the writer, what comes waits in a queue for the caller, and the native log is drained.

Invariant: a request's frames go to that request. One that was given up is stopped and read to its end before the next.
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
from typing import Any, NoReturn, TypeVar

from skippy_chat import errors
from skippy_chat.engine.deaths import describe_death
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
from skippy_chat.engine.watch import DEFAULT_LIMITS, Limits, Watch
from skippy_chat.errors import EngineDied, NativeError, SkippyError
from skippy_chat.events import Event, from_dict

OnProgress = Callable[[str, int, int], None]
Frame = dict[str, Any]
T = TypeVar("T")

WORKER = (sys.executable, "-m", "skippy_chat.engine.worker")
_LOG_TAIL = 12
_SLICE = 0.25
_AFTER_THE_END = 5.0
_LONGEST_FRAME = 64 << 20
_GARBAGE = "was ended, because it wrote garbage to its pipe"


class EngineClient:
    """One worker process. Requests come from one thread at a time; ``cancel`` from any."""

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
        self._request = 0
        self._open = False
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
        self._inbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=target, name=f"worker-{name}", daemon=True)
            for name, target in (("requests", self._write), ("frames", self._read))
        ]
        for thread in self._threads:
            thread.start()
        self._greet()

    def _greet(self) -> None:
        try:
            hello = self._receive(Watch(self._limits))
            if hello["frame"] != "hello" or hello.get("protocol") != PROTOCOL:
                raise EngineDied("The worker speaks another protocol.", "Reinstall: python3 build_llama.py")
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

    def run(self, request: StepRequest | ReplayRequest) -> Generator[Event | StepReply, None, None]:
        """Run a step and yield its events; the reply comes last.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        for frame in self._call("request", request, kind=request.kind):
            if frame["frame"] == "event":
                yield self._understood(frame, lambda each: from_dict(each["body"]))
            elif frame["frame"] == "reply":
                yield self._understood(frame, lambda each: parse_step_reply(each["body"]))

    def flush(self) -> Iterator[Event]:
        """Wait until all checkpoints are durable; yield what is told meanwhile."""
        for frame in self._call("flush"):
            if frame["frame"] == "event":
                yield self._understood(frame, lambda each: from_dict(each["body"]))

    def cancel(self) -> None:
        """Stop the running request; safe from any thread, and when the worker is gone."""
        self._outbox.put(to_line("cancel", request=self._request))

    def close(self) -> None:
        """Let the worker finish recording and end; safe to call twice."""
        if self._process.poll() is None:
            self._outbox.put(None)
            watch, left = Watch(self._limits), self._limits.goodbye
            with contextlib.suppress(EngineDied):
                while left > 0:  # late events: what they tell is on disk
                    began = self._clock()
                    self._take(watch)
                    left -= min(self._clock() - began, _SLICE)
            if self._process.poll() is None:
                self._process.kill()
        self._release()

    def kill(self) -> None:
        """End the worker at once."""
        self._process.kill()
        self._release()

    def _release(self) -> None:
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

    def _call(self, frame: str, body: Any = None, **more: Any) -> Iterator[Frame]:
        """Ask something and yield the frames that answer it, the reply last."""
        self._finish_abandoned()
        self._request += 1
        self._open = True
        self._outbox.put(to_line(frame, body, id=self._request, **more))
        watch = Watch(self._limits)
        while self._open:
            answer = self._receive(watch)
            if answer["frame"] in ("reply", "error"):
                self._open = False
            if answer["frame"] == "error":
                raise _told(answer)
            yield answer

    def _finish_abandoned(self) -> None:
        """Stop a request whose caller went away, and pass over what it still had to say."""
        if not self._open:
            return
        self.cancel()
        watch = Watch(self._limits)
        while self._open:
            self._open = self._receive(watch)["frame"] not in ("reply", "error")

    def _receive(self, watch: Watch) -> Frame:
        while True:
            frame = self._take(watch)
            if frame is not None:
                return frame

    def _take(self, watch: Watch) -> Frame | None:
        """Wait a moment for a frame; None when there was none but a beat.

        Raises:
            EngineDied: the worker is gone; one that hangs is ended for it.
        """
        began = self._clock()
        try:
            frame = self._inbox.get(timeout=_SLICE)
        except queue.Empty:
            watch.waited(min(self._clock() - began, _SLICE))
            if watch.verdict:
                self._give_up(f"was ended, because it {watch.verdict}")
            return None
        watch.waited(min(self._clock() - began, _SLICE))
        if frame is None:
            self._inbox.put(None)  # for whoever asks next
            raise self.death()
        if frame["frame"] == "beat":
            watch.beat(float(frame["processor"]))
            return None
        watch.frame()
        return frame

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
                self._inbox.put(frame)
        self._inbox.put(None)


def _parsed(line: bytes) -> Frame | None:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(frame, dict) or not isinstance(frame.get("frame"), str):
        return None
    if frame["frame"] == "beat" and not isinstance(frame.get("processor"), (int, float)):
        return None
    return frame


def _told(frame: Frame) -> SkippyError:
    kind = getattr(errors, str(frame.get("fault")), NativeError)
    if not (isinstance(kind, type) and issubclass(kind, SkippyError)):
        kind = NativeError
    return kind(str(frame.get("message", "")), str(frame.get("hint", "")))
