"""Standard error: the one place that writes to it, so that standard output stays data.

Invariant: a progress line appears only on a terminal, is erased before anything else is written, and nothing written
here carries a control character or a line break of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import TextIO

from skippy_chat.text.sanitise import sanitise

_PATIENCE = 1.0
_EVERY = 0.1
_PLAIN_EVERY = 5.0
_DUMB = frozenset({"", "dumb", "unknown"})
_RED, _PLAIN = "\x1b[31m", "\x1b[39m"


def on_terminal(stream: TextIO) -> bool:
    """Tell whether a stream is an open terminal."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def is_dumb(env: Mapping[str, str]) -> bool:
    """Tell whether TERM says that a terminal can neither move its cursor nor show colours."""
    return env.get("TERM", "") in _DUMB


def wants_colour(env: Mapping[str, str], stream: TextIO | None) -> bool:
    """Tell whether to colour what is written to ``stream``, by the usual variables.

    NO_COLOR goes before FORCE_COLOR and CLICOLOR_FORCE, these before TERM and CLICOLOR=0; else a terminal has colour.
    Empty ones count as not set.
    """
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0") or env.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if is_dumb(env) or env.get("CLICOLOR") == "0":
        return False
    return stream is not None and on_terminal(stream)


def line_width(stream: TextIO) -> int | None:
    """Return how many cells a line of this terminal has; None where lines have no width, as in pipes."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError):
        return None


def one_line(text: str) -> str:
    """Return untrusted text as one clean line."""
    return " ".join(sanitise(text).split())


class Talk:
    """What is said beside the data: errors, notes, and one progress line for steps that take over a second.

    Args:
        stream: standard error.
        monotonic: seconds, for pacing progress.
        plain: no cursor movement; progress becomes a sentence every few seconds.
        colour: the program's name before an error is red.
    """

    def __init__(
        self, stream: TextIO, monotonic: Callable[[], float], *, plain: bool = False, colour: bool = False
    ) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._plain = plain
        self._colour = colour
        self.is_terminal = on_terminal(stream)
        self._label = ""
        self._began = 0.0
        self._shown_at: float | None = None
        self._on_screen = False

    def be_plain(self) -> None:
        """Move no cursor from now on."""
        self.clear()
        self._plain = True
        self._colour = False

    def ask(self, question: str) -> None:
        """Put a question and leave the cursor behind it."""
        self.clear()
        self._write(f"{one_line(question)} ")

    def progress(self, label: str, done: int, total: int, *, told: str = "") -> None:
        """Show how far a long step is; quiet during its first second and without a terminal.

        ``told`` is shown behind the label where the bare numbers would not be understood.
        """
        if not self.is_terminal:
            return
        now = self._monotonic()
        if label != self._label:
            self.clear()
            self._label, self._began, self._shown_at = label, now, None
        pause = _PLAIN_EVERY if self._plain else _EVERY
        too_soon = self._shown_at is not None and now - self._shown_at < pause
        if now - self._began < _PATIENCE or too_soon:
            return
        self._shown_at = now
        from skippy_chat.wording import progress_line  # noqa: PLC0415 - most commands never wait that long

        line = one_line(f"{label}: {told}" if told else progress_line(label, done, total))
        if self._plain:
            self._write(f"{line}.\n")
        else:
            self._write(f"\r\x1b[K{line}")
            self._on_screen = True

    def clear(self) -> None:
        """Erase the progress line; the next step starts anew."""
        if self._on_screen:
            self._write("\r\x1b[K")
        self._on_screen = False
        self._label = ""

    def note(self, text: str) -> None:
        """Say something a person should know, on one line."""
        self.clear()
        self._write(f"{one_line(text)}\n")

    def aside(self, text: str) -> None:
        """Say something that only a person at a terminal cares for."""
        if self.is_terminal:
            self.note(text)

    def error(self, text: str) -> None:
        """Say what went wrong, on one line that names the program."""
        name = f"{_RED}skippy-chat:{_PLAIN}" if self._colour else "skippy-chat:"
        self.clear()
        self._write(f"{name} {one_line(text)}\n")

    def traceback(self, text: str) -> None:
        """Show a traceback, cleaned but on its own lines."""
        self.clear()
        self._write(sanitise(text))

    def _write(self, text: str) -> None:
        # A closed or full stderr must not hide what the program was doing.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
