"""The program in a terminal of its own: keys in, the screen as a person sees it out.

Invariant: nothing is known of the program but what its screen shows.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pyte

PATIENCE = 120.0
_QUIET = 0.6  # seconds without a byte: the screen is as it stays
_KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
}


class Terminal:
    """One program; ``size`` is columns and rows, ``home`` the folder that the person calls home."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        home: str,
        folder: Path,
        size: tuple[int, int],
    ) -> None:
        columns, rows = size
        self.home = home
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            arguments, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=env, start_new_session=True
        )
        os.close(slave)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(self.screen.display)

    def type(self, text: str) -> None:
        """Type a text, a key at a time."""
        for each in text:
            os.write(self._master, each.encode())
            self._read(0.01)

    def press(self, *keys: str) -> None:
        """Press keys by name, ctrl+x among them, each alone."""
        for key in keys:
            code = _KEYS.get(key) or (chr(ord(key[5]) & 31) if key.startswith("ctrl+") else key)
            os.write(self._master, code.encode())
            self.rest(0.3)

    def say(self, text: str) -> None:
        """Type a text and send it."""
        self.type(text)
        self.rest(0.2)
        self.press("enter")

    def until(self, shown: str | Callable[[str], object]) -> None:
        """Read until the screen shows something, and then until it is still."""
        holds = shown if callable(shown) else lambda text: shown in text
        end = time.monotonic() + PATIENCE
        while not holds(self.text):
            if time.monotonic() > end or not self._read(0.1, keep=True):
                raise SystemExit(f"never showed {shown!r}:\n{self.text}")
        self.rest()

    def rest(self, quiet: float = _QUIET) -> None:
        """Read until nothing has been written for so many seconds."""
        end = time.monotonic() + 5
        while self._read(quiet) and time.monotonic() < end:
            pass

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the program, and its whole session if it does not go."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        end = time.monotonic() + 40
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.1, keep=True)
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def _read(self, patience: float, *, keep: bool = False) -> bool:
        """Take what was written; False when nothing was, or with ``keep`` only when nothing more can come."""
        if not select.select([self._master], [], [], patience)[0]:
            return keep and self.process.poll() is None
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self._stream.feed(data)
        return bool(data)
