"""The worker process: the model, the lane and the checkpoint store, behind a pipe.

It is started as ``python -m skippy_chat.engine.worker LOG``. Frames come in on standard input and go out on what was
standard output; descriptor 1 is pointed at standard error first, so that nothing native can garble the pipe. The
client reads standard error too, and keeps it in the file LOG. Every frame that answers a request has its number.

Invariants: requests are served one after another, in the order of ``waiting``; questions about the cache (``lookups``)
are answered meanwhile and change nothing. The lane is left for a side request
only if coming back costs no prefill. A worker whose client is gone ends by itself, also in the middle of native code;
what it was recording is given time to become durable.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO

from skippy_chat.engine.lookups import Lookups
from skippy_chat.engine.pacing import PacedEvents
from skippy_chat.engine.protocol import (
    PROTOCOL,
    LoadRequest,
    ReplayRequest,
    StepReply,
    StepRequest,
    parse_request,
    to_line,
)
from skippy_chat.engine.questions import KINDS, parse_question
from skippy_chat.engine.waiting import Waiting, is_aside
from skippy_chat.engine.watch import BEAT_SECONDS
from skippy_chat.errors import CheckpointError, NativeError, SkippyError
from skippy_chat.events import Event, PrefillStarted, stamp, to_dict

BATCH_GRACE_SECONDS = 4.0
STEP_GRACE_SECONDS = 6.0
"""Time for a running step to end once the client is gone: to the next cut, or to the end of an aborted batch."""
RECORDING_GRACE_SECONDS = 20.0


class Worker:
    """Reads frames on one thread, works on the main one; ``cancel`` overtakes what waits."""

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        now_ms: Callable[[], int],
        processor: Callable[[], float],
        clock: Callable[[], float],
        log: str,
    ) -> None:
        """``processor`` gives the processor seconds this process has used, ``clock`` seconds; errors name ``log``."""
        self._source = source
        self._sink = sink
        self._now_ms = now_ms
        self._processor = processor
        self._clock = clock
        self._log = log
        self._lock = threading.Lock()
        self._waiting = Waiting(self._cancel)
        self._lookups = Lookups(self._look_up)
        self._engine: Any = None
        self._outlook: Any = None
        self._was_aside = False
        self._gone = False
        self._last_request = threading.Event()
        self._ended = threading.Event()

    def run(self) -> int:
        """Serve until the pipe ends; return the exit code."""
        self._send(to_line("hello", protocol=PROTOCOL, pid=os.getpid()))
        for name, target in (("pipe", self._listen), ("heartbeat", self._beat)):
            threading.Thread(target=target, name=name, daemon=True).start()
        self._lookups.start()
        while (frame := self._waiting.next()) is not None:
            self._serve(frame)
        self._last_request.set()
        self._lookups.close()
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
                self._send_error(NativeError("The worker read garbage from its pipe."), None)
                break
            if frame.get("frame") == "cancel":
                if (dropped := self._waiting.cancel(frame.get("request"))) is not None:
                    stopped = SkippyError("The side request was stopped before it began.")
                    self._send_error(stopped, dropped.get("id"))
            elif frame.get("kind") in KINDS:
                self._lookups.add(frame)
            else:
                self._waiting.add(frame)
        # The parent is gone, or said goodbye: a running step is of no use to anybody.
        self._waiting.close()
        self._see_out()

    def _cancel(self, patience: float | None) -> None:
        """Stop the running step; when nobody waits, a batch may reach its cut, where it can be recorded."""
        if self._engine is None:
            return
        if self._waiting.closed:
            patience = BATCH_GRACE_SECONDS
        self._engine.cancel(*(() if patience is None else (patience,)))

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
        number = frame.get("id")
        try:
            self._send(to_line("reply", self._answer(frame), id=number))
        except SkippyError as error:
            self._send_error(error, number)
        except Exception as error:  # noqa: BLE001 - told to the client, which knows what to do with a broken worker
            with contextlib.suppress(OSError):
                traceback.print_exc()
            if self._engine is not None:
                # Where the lane stands is not known any more; if it cannot even be emptied, that ends the process.
                self._engine.lane.clear()
            message = f"The worker failed: {type(error).__name__}: {error}."
            self._send_error(NativeError(message, f"Its log has more: {self._log}"), number)

    def _look_up(self, frame: dict[str, Any]) -> None:
        """Answer a question about the cache, on its thread; whatever fails here is told and touches nothing."""
        number = frame.get("id")
        try:
            if self._outlook is None:
                raise NativeError("The worker has no model loaded.", "Ask again when it has.")
            self._send(to_line("reply", self._outlook.tell(parse_question(frame)), id=number))
        except SkippyError as error:
            self._send_error(error, number)
        except Exception as error:  # noqa: BLE001 - a bug in looking must not end what is looked at
            with contextlib.suppress(OSError):
                traceback.print_exc()
            self._send_error(NativeError(f"Looking failed: {type(error).__name__}: {error}."), number)

    def _send_error(self, error: SkippyError, number: object) -> None:
        self._send(
            to_line(
                "error",
                id=number,
                code=error.code,
                message=error.message,
                hint=error.hint,
                fault=type(error).__name__,
            )
        )

    def _answer(self, frame: dict[str, Any]) -> Any:
        if frame.get("frame") == "flush":
            self._flush()
            return {}
        request = parse_request(frame)
        if isinstance(request, LoadRequest):
            from skippy_chat.engine.loading import load_engine  # noqa: PLC0415 - slow to import, needed here alone
            from skippy_chat.engine.outlook import Outlook  # noqa: PLC0415 - as above

            loaded = load_engine(request, self._progress(frame.get("id")))
            self._engine = loaded.engine
            self._outlook = Outlook(loaded.engine)
            return loaded.reply
        if self._engine is None:
            raise NativeError("The worker has no model loaded.", "This is a bug: please report it.")
        paced = PacedEvents(self._emitter(request, frame.get("id")), self._clock)
        try:
            if is_aside(frame):
                return self._answer_aside(request, paced.take)
            self._was_aside = False
            return self._run(request, paced.take)
        finally:
            paced.flush()

    def _answer_aside(self, request: StepRequest | ReplayRequest, emit: Callable[[Event], None]) -> StepReply:
        from skippy_chat.engine.leaving import can_come_back  # noqa: PLC0415 - loads what the model needs

        if not self._was_aside:
            self._flush()
            if not can_come_back(self._engine.lane, self._engine.store):
                raise CheckpointError(
                    "A side request was refused: the conversation would have to be read again after it.",
                    "Side requests need a cache with room for the conversation.",
                )
        if self._waiting.gave_way():
            return StepReply("", "cancelled", array("i"), 0, [], gave_way=True)
        self._was_aside = True
        reply = self._run(request, emit)
        return replace(reply, gave_way=self._waiting.gave_way() and reply.finish_reason == "cancelled")

    def _run(self, request: StepRequest | ReplayRequest, emit: Callable[[Event], None]) -> StepReply:
        run = self._engine.step if isinstance(request, StepRequest) else self._engine.replay
        reply: StepReply = run(request, emit)
        return reply

    def _emitter(self, request: StepRequest | ReplayRequest, number: object) -> Callable[[Event], None]:
        def emit(event: Event) -> None:
            stamped = stamp(event, session=request.session, turn=request.turn, at_ms=self._now_ms())
            self._send(to_line("event", to_dict(stamped), id=number))
            # A step forgets earlier wishes when it begins; one that came just before that was for this step.
            if isinstance(event, PrefillStarted):
                self._waiting.stop_if_asked()

        return emit

    def _progress(self, number: object) -> Callable[[str, int, int], None]:
        return lambda what, done, total: self._send(
            to_line("progress", id=number, what=what, done=done, total=total)
        )

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
        return Worker(reader, writer, now_ms, time.process_time, time.monotonic, sys.argv[-1]).run()


if __name__ == "__main__":
    sys.exit(main())
