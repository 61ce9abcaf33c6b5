"""The client of a worker process: requests in, events out, and a clear word when the worker is gone."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from skippy_chat import errors
from skippy_chat.engine.protocol import (
    PROTOCOL,
    LoadReply,
    LoadRequest,
    ReplayRequest,
    StepReply,
    StepRequest,
    parse_step_reply,
    request_line,
    to_line,
)
from skippy_chat.errors import EngineDied, NativeError, SkippyError
from skippy_chat.events import Event, from_dict

OnProgress = Callable[[str, int, int], None]
_LOG_TAIL = 12
_GOODBYE_SECONDS = 30.0


class EngineClient:
    """One worker process. Requests come from one thread at a time; ``cancel`` from any."""

    def __init__(self, log: Path) -> None:
        """Start the worker; its native log lines are appended to ``log``.

        Raises:
            EngineDied: it does not start.
        """
        self._log = log
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "skippy_chat.engine.worker", str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._write_lock = threading.Lock()
        hello = self._read()
        if hello.get("frame") != "hello" or hello.get("protocol") != PROTOCOL:
            self.kill()
            raise EngineDied("The worker speaks another protocol.", "Reinstall: python3 build_llama.py")

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def load(self, request: LoadRequest, on_progress: OnProgress) -> LoadReply:
        """Load a model.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        self._write(request_line(request))
        while True:
            frame = self._read()
            if frame["frame"] == "progress":
                on_progress(frame["what"], frame["done"], frame["total"])
            elif frame["frame"] == "reply":
                return LoadReply(**frame["body"])
            else:
                _raise_error(frame)

    def run(self, request: StepRequest | ReplayRequest) -> Generator[Event | StepReply, None, None]:
        """Run a step and yield its events; the reply comes last.

        Raises:
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        self._write(request_line(request))
        while True:
            frame = self._read()
            if frame["frame"] == "event":
                yield from_dict(frame["body"])
            elif frame["frame"] == "reply":
                yield parse_step_reply(frame["body"])
                return
            else:
                _raise_error(frame)

    def flush(self) -> Iterator[Event]:
        """Wait until all checkpoints are durable; yield what is told meanwhile."""
        self._write(to_line("flush"))
        while (frame := self._read())["frame"] != "reply":
            if frame["frame"] == "event":
                yield from_dict(frame["body"])

    def cancel(self) -> None:
        """Stop the running step; safe from any thread, and when the worker is gone."""
        with contextlib.suppress(EngineDied):
            self._write(to_line("cancel"))

    def close(self) -> None:
        """Let the worker finish recording and end; safe to call twice."""
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._to.close()
            with contextlib.suppress(OSError, ValueError):
                while self._from.readline():  # late events: what they tell is on disk
                    pass
            try:
                self._process.wait(_GOODBYE_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        self._release()

    def kill(self) -> None:
        """End the worker at once."""
        self._process.kill()
        self._process.wait()
        self._release()

    def _release(self) -> None:
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()

    def _write(self, line: bytes) -> None:
        try:
            with self._write_lock:
                self._to.write(line)
                self._to.flush()
        except (OSError, ValueError) as error:
            raise self._death() from error

    def _read(self) -> dict[str, Any]:
        try:
            line = self._from.readline()
        except ValueError as error:
            raise self._death() from error
        if not line:
            raise self._death()
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if not isinstance(frame, dict) or "frame" not in frame:
            self.kill()
            raise EngineDied("The worker wrote garbage to its pipe.", f"Its log: {self._log}", self._tail())
        return frame

    def _death(self) -> EngineDied:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        return EngineDied(f"The worker process ended {how}.", f"Its log: {self._log}", self._tail())

    def _tail(self) -> tuple[str, ...]:
        try:
            lines = self._log.read_text("utf-8", "replace").splitlines()
        except OSError:
            return ()
        return tuple(lines[-_LOG_TAIL:])


def _raise_error(frame: dict[str, Any]) -> None:
    if frame["frame"] != "error":
        raise NativeError(f"The worker sent an unexpected {frame['frame']!r} frame.", "Please report this.")
    kind = getattr(errors, str(frame.get("fault")), NativeError)
    if not (isinstance(kind, type) and issubclass(kind, SkippyError)):
        kind = NativeError
    raise kind(frame["message"], frame["hint"])
