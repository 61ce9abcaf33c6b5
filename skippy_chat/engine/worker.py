"""The worker process: the model, the lane and the checkpoint store, behind a pipe.

It is started as ``python -m skippy_chat.engine.worker LOG``. Frames come in on standard input and go out on what was
standard output; descriptor 1 is pointed at standard error first, so that nothing native can garble the pipe. The
client reads standard error too, and keeps it in the file LOG.

Invariant: a worker whose client is gone ends by itself, also in the middle of native code; what it was recording is
given time to become durable.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from skippy_chat.engine.protocol import (
    PROTOCOL,
    LoadRequest,
    ReplayRequest,
    StepRequest,
    parse_request,
    to_line,
)
from skippy_chat.engine.watch import BEAT_SECONDS
from skippy_chat.errors import NativeError, SkippyError
from skippy_chat.events import Event, PrefillStarted, stamp, to_dict

BATCH_GRACE_SECONDS = 4.0
STEP_GRACE_SECONDS = 6.0
"""Time for a running step to end once the client is gone: to the next cut, or to the end of an aborted batch."""
RECORDING_GRACE_SECONDS = 20.0


class Worker:
    """Reads frames on one thread, works on the main one; ``cancel`` overtakes what is queued."""

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        now_ms: Callable[[], int],
        processor: Callable[[], float],
        log: str,
    ) -> None:
        """``processor`` gives the processor seconds this process has used; ``log`` is named in errors."""
        self._source = source
        self._sink = sink
        self._now_ms = now_ms
        self._processor = processor
        self._log = log
        self._lock = threading.Lock()
        self._requests: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._engine: Any = None
        self._gone = False
        self._cancelled: object = None
        self._parting = False
        self._last_request = threading.Event()
        self._ended = threading.Event()

    def run(self) -> int:
        """Serve until the pipe ends; return the exit code."""
        self._send(to_line("hello", protocol=PROTOCOL, pid=os.getpid()))
        for name, target in (("pipe", self._listen), ("heartbeat", self._beat)):
            threading.Thread(target=target, name=name, daemon=True).start()
        while (frame := self._requests.get()) is not None:
            self._serve(frame)
        self._last_request.set()
        if self._engine is not None:
            self._engine.close()
        self._ended.set()
        return 0

    def _beat(self) -> None:
        # Native code runs without Python's lock, so this goes on while a batch is computed.
        while not self._ended.wait(BEAT_SECONDS):
            self._send(to_line("beat", processor=self._processor()))

    def _listen(self) -> None:
        for line in self._source:
            try:
                frame = json.loads(line)
            except ValueError:
                self._send(
                    to_line("error", code="native", message="The worker read garbage from its pipe.", hint="")
                )
                break
            if frame.get("frame") == "cancel":
                # Remembered, because the request it is for may not have begun.
                self._cancelled = frame.get("request")
                self._cancel()
            else:
                self._requests.put(frame)
        # The parent is gone, or said goodbye: a running step is of no use to anybody.
        self._parting = True
        self._requests.put(None)
        self._cancel()
        self._see_out()

    def _cancel(self) -> None:
        if self._engine is None:
            return
        if self._parting:
            # Nobody waits, so a batch may reach its cut, where what was read can be recorded.
            self._engine.cancel(BATCH_GRACE_SECONDS)
        else:
            self._engine.cancel()

    def _see_out(self) -> None:
        """End the process from this thread when the main one does not get there."""
        if not self._last_request.wait(STEP_GRACE_SECONDS):
            # It is stuck in native code; what was handed over before that can still be written.
            flushing = threading.Thread(target=self._flush, name="last-flush", daemon=True)
            flushing.start()
            flushing.join(RECORDING_GRACE_SECONDS)
            os._exit(1)
        if not self._ended.wait(RECORDING_GRACE_SECONDS):
            os._exit(1)

    def _flush(self) -> None:
        if self._engine is not None:
            self._engine.flush()

    def _serve(self, frame: dict[str, Any]) -> None:
        try:
            self._send(to_line("reply", self._answer(frame)))
        except SkippyError as error:
            self._send_error(error.code, error.message, error.hint, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - told to the client, which knows what to do with a broken worker
            with contextlib.suppress(OSError):
                traceback.print_exc()
            if self._engine is not None:
                # Where the lane stands is not known any more; if it cannot even be emptied, that ends the process.
                self._engine.lane.clear()
            message = f"The worker failed: {type(error).__name__}: {error}."
            self._send_error("native", message, f"Its log has more: {self._log}", "NativeError")

    def _send_error(self, code: str, message: str, hint: str, fault: str) -> None:
        self._send(to_line("error", code=code, message=message, hint=hint, fault=fault))

    def _answer(self, frame: dict[str, Any]) -> Any:
        if frame.get("frame") == "flush":
            self._flush()
            return {}
        request = parse_request(frame)
        if isinstance(request, LoadRequest):
            from skippy_chat.engine.loading import load_engine  # noqa: PLC0415 - slow to import, needed here alone

            loaded = load_engine(request, self._progress)
            self._engine = loaded.engine
            return loaded.reply
        if self._engine is None:
            raise NativeError("The worker has no model loaded.", "This is a bug: please report it.")
        emit = self._emitter(request, frame.get("id"))
        if isinstance(request, StepRequest):
            return self._engine.step(request, emit)
        return self._engine.replay(request, emit)

    def _emitter(self, request: StepRequest | ReplayRequest, number: object) -> Callable[[Event], None]:
        def emit(event: Event) -> None:
            stamped = stamp(event, session=request.session, turn=request.turn, at_ms=self._now_ms())
            self._send(to_line("event", to_dict(stamped)))
            # A step forgets earlier wishes when it begins; one that came just before that was for this step.
            if isinstance(event, PrefillStarted) and (self._parting or self._cancelled == number):
                self._cancel()

        return emit

    def _progress(self, what: str, done: int, total: int) -> None:
        self._send(to_line("progress", what=what, done=done, total=total))

    def _send(self, line: bytes) -> None:
        with self._lock:
            if self._gone:
                return
            try:
                self._sink.write(line)
                self._sink.flush()
            except (BrokenPipeError, ValueError):
                self._gone = True


def main() -> int:
    """Run a worker on the pipe that standard input and output are."""
    import time  # noqa: PLC0415 - the clocks of the process

    source, sink = os.dup(0), os.dup(1)
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.dup2(2, 1)
    faulthandler.enable(2)
    # Ctrl-C reaches the whole process group; the face decides what it means and sends a cancel.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(source, "rb") as reader, os.fdopen(sink, "wb") as writer:
        now_ms = lambda: time.time_ns() // 1_000_000  # noqa: E731
        return Worker(reader, writer, now_ms, time.process_time, sys.argv[-1]).run()


if __name__ == "__main__":
    sys.exit(main())
