"""The worker process: the model, the lane and the checkpoint store, behind a pipe.

It is started as ``python -m skippy_chat.engine.worker LOG``. Frames come in on standard input and go out on what was
standard output; descriptors 1 and 2 are pointed at the log first, so that nothing native can garble the pipe.
"""

from __future__ import annotations

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
from skippy_chat.errors import NativeError, SkippyError
from skippy_chat.events import Event, stamp, to_dict


class Worker:
    """Reads frames on one thread, works on the main one; ``cancel`` overtakes what is queued."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, now_ms: Callable[[], int], log: str) -> None:
        self._source = source
        self._sink = sink
        self._now_ms = now_ms
        self._log = log
        self._lock = threading.Lock()
        self._requests: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._engine: Any = None
        self._gone = False

    def run(self) -> int:
        """Serve until the pipe ends; return the exit code."""
        threading.Thread(target=self._listen, name="pipe", daemon=True).start()
        self._send(to_line("hello", protocol=PROTOCOL, pid=os.getpid()))
        while (frame := self._requests.get()) is not None:
            self._serve(frame)
        if self._engine is not None:
            self._engine.close()
        return 0

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
                if self._engine is not None:
                    self._engine.cancel()
            else:
                self._requests.put(frame)
        # The parent is gone, or said goodbye: a running step is of no use to anybody.
        if self._engine is not None:
            self._engine.cancel()
        self._requests.put(None)

    def _serve(self, frame: dict[str, Any]) -> None:
        try:
            self._send(to_line("reply", self._answer(frame)))
        except SkippyError as error:
            self._send(
                to_line(
                    "error",
                    code=error.code,
                    message=error.message,
                    hint=error.hint,
                    fault=type(error).__name__,
                )
            )
        except Exception as error:  # noqa: BLE001 - told to the client, which knows what to do with a broken worker
            traceback.print_exc()
            message = f"The worker failed: {type(error).__name__}: {error}."
            self._send(
                to_line(
                    "error",
                    code="native",
                    message=message,
                    hint=f"Its log has more: {self._log}",
                    fault="NativeError",
                )
            )

    def _answer(self, frame: dict[str, Any]) -> Any:
        if frame.get("frame") == "flush":
            if self._engine is not None:
                self._engine.flush()
            return {}
        request = parse_request(frame)
        if isinstance(request, LoadRequest):
            from skippy_chat.engine.loading import load_engine  # noqa: PLC0415 - slow to import, needed here alone

            loaded = load_engine(request, self._progress)
            self._engine = loaded.engine
            return loaded.reply
        if self._engine is None:
            raise NativeError("The worker has no model loaded.", "This is a bug: please report it.")
        emit = self._emitter(request)
        if isinstance(request, StepRequest):
            return self._engine.step(request, emit)
        return self._engine.replay(request, emit)

    def _emitter(self, request: StepRequest | ReplayRequest) -> Callable[[Event], None]:
        def emit(event: Event) -> None:
            stamped = stamp(event, session=request.session, turn=request.turn, at_ms=self._now_ms())
            self._send(to_line("event", to_dict(stamped)))

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
    import time  # noqa: PLC0415 - the one clock of the process

    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    source, sink = os.dup(0), os.dup(1)
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # Ctrl-C reaches the whole process group; the face decides what it means and sends a cancel.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(source, "rb") as reader, os.fdopen(sink, "wb") as writer:
        return Worker(reader, writer, lambda: time.time_ns() // 1_000_000, sys.argv[1]).run()


if __name__ == "__main__":
    sys.exit(main())
