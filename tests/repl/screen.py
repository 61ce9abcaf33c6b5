"""A real pseudo-terminal with a program in it, its screen kept by pyte."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyte
from typing_extensions import Self

ROOT = Path(__file__).parents[2]
_PATIENCE = 60.0
# What whoever started the tests ignores, as nohup or a background job does, would be ignored by the program too.
DEFAULT_SIGNALS = (
    "import signal; "
    "[signal.signal(each, signal.SIG_DFL) for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)]; "
)
# The child takes the terminal as its own, so that keys become signals where they should.
_TAKE = (
    DEFAULT_SIGNALS + "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', *sys.argv[1:]])"
)


class Screen:
    """Type keys, wait for what shows; ``raw`` holds every byte the program wrote."""

    def __init__(
        self,
        *arguments: str,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        program: str = "tests.fakes.program",
    ) -> None:
        self._master, slave = pty.openpty()
        self._resize(rows, columns)
        self._display = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self._display)
        self.raw = b""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TAKE, program, *arguments],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", **env},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            os.close(self._master)

    @property
    def text(self) -> str:
        """Everything shown, scrolled-off lines first."""
        above = ["".join(line[column].data for column in sorted(line)) for line in self._display.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self._display.display]).rstrip()

    def type(self, keys: str) -> None:
        """Send keys as they are."""
        os.write(self._master, keys.encode())

    def paste(self, text: str) -> None:
        """Send a bracketed paste, as a terminal does."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, rows: int, columns: int) -> None:
        """Change the window's size; the program is told."""
        self._display.resize(rows, columns)
        self._resize(rows, columns)

    def wait_for(self, wanted: str | Callable[[str], bool]) -> str:
        """Read until the screen shows ``wanted``, and return the screen."""
        shows = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + _PATIENCE
        while not shows(self.text):
            if time.monotonic() > deadline or not self._read(deadline):
                raise AssertionError(f"never showed {wanted!r}:\n{self.text}")
        return self.text

    def wait_for_prompt(self, count: int) -> str:
        """Wait until ``count`` prompts have been shown, the last of them empty and waiting."""
        return self.wait_for(
            lambda text: (
                len([line for line in text.splitlines() if line.startswith(">")]) >= count
                and text.splitlines()[-1].rstrip() == ">"
            )
        )

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self._process.send_signal(number)

    @property
    def echoes(self) -> bool:
        """Whether the terminal is in its ordinary mode: lines, echo, signals."""
        flags: int = termios.tcgetattr(self._master)[3]
        wanted = termios.ECHO | termios.ICANON | termios.ISIG
        return flags & wanted == wanted

    def ended(self) -> int:
        """Read to the end of the program and return its exit code."""
        deadline = time.monotonic() + _PATIENCE
        while self._read(deadline):
            pass
        return self._process.wait(timeout=_PATIENCE)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux tells that the other end is closed
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    def _resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
