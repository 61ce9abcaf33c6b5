"""Running a program for a tool: bounded, and gone when the call is over.

Every program runs under a keeper process (``keeper.py``), which ends it and all it started on a time-out, on cancel,
and when this process dies, however it dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from skippy_chat.errors import ToolError

_KEEPER = Path(__file__).with_name("keeper.py")
_PIECE = 65536
# An Event cannot be waited for together with a pipe, so it is looked at this often.
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: ``code`` is its exit code or signal, ``left_over`` that background processes were ended."""

    how: Literal["exit", "signal", "timeout", "cancelled", "output", "failed"]
    code: int = 0
    detail: str = ""
    left_over: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: ``folder_fd`` is the folder it starts in, ``stdin_fd`` what it reads (None: nothing)."""

    argv: Sequence[str]
    folder_fd: int
    environment: Mapping[str, str]
    seconds: float
    memory_bytes: int
    stdin_fd: int | None = None


def run_program(program: Program, on_output: Callable[[bytes], bool], cancel: threading.Event) -> Ended:
    """Run a program to its end; ``on_output`` takes output and errors as they come and answers whether to go on.

    Raises:
        ToolError: the keeper cannot be started.
    """
    kept = [program.folder_fd] + ([program.stdin_fd] if program.stdin_fd is not None else [])
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(program.environment),
            pass_fds=kept,
            start_new_session=True,  # a Ctrl-C on the terminal is for the face, which then cancels
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"No process can be started: {error}.") from error
    with process:
        run = _Run(process, on_output, cancel)
        try:
            return run.follow(program)
        finally:
            run.stop()


class _Run:
    """One keeper, from its first line to its end."""

    def __init__(
        self, process: subprocess.Popen[bytes], on_output: Callable[[bytes], bool], cancel: threading.Event
    ) -> None:
        self._process = process
        self._on_output = on_output
        self._cancel = cancel
        self._told = bytearray()
        self._too_much = False

    def follow(self, program: Program) -> Ended:
        self._begin(program)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            selector.register(self._process.stderr, selectors.EVENT_READ)
            keeper_lives = True
            while selector.get_map():
                if self._cancel.is_set() or self._too_much:
                    self.stop()
                ready = selector.select(_LOOK_SECONDS if keeper_lives else 0)
                if not ready and not keeper_lives:
                    break  # somebody who got away still holds the pipe
                for key, _ in ready:
                    data = os.read(key.fd, _PIECE)
                    if not data:
                        selector.unregister(key.fileobj)
                        keeper_lives = keeper_lives and key.fileobj is not self._process.stderr
                    elif key.fileobj is self._process.stderr:
                        self._told += data
                    elif not self._too_much:
                        self._too_much = not self._on_output(data)
        return self._ended()

    def stop(self) -> None:
        """Let the keeper end everything; it sees that the control pipe is closed."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _begin(self, program: Program) -> None:
        spec = {
            "argv": list(program.argv),
            "folder_fd": program.folder_fd,
            "stdin_fd": program.stdin_fd,
            "seconds": program.seconds,
            "memory": program.memory_bytes,
        }
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(spec).encode() + b"\n")
            self._process.stdin.flush()

    def _ended(self) -> Ended:
        self._process.wait()
        told: dict[str, Any] = {}
        for line in bytes(self._told).splitlines():
            with contextlib.suppress(ValueError):
                told |= json.loads(line)
        how = told.get("ended")
        if how is None:
            # The keeper itself was killed, perhaps for memory; its command goes with it on Linux, elsewhere here.
            if "pid" in told:
                with contextlib.suppress(OSError):
                    os.killpg(told["pid"], signal.SIGKILL)
            return Ended("failed", detail="the process that watches commands died")
        if self._too_much:
            return Ended("output")
        return Ended(how, told.get("code", 0), told.get("detail", ""), told.get("left_over", False))
