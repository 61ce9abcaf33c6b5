"""What a function prints while it is a tool: live output of its call, never bytes on a screen or in a script's answer.

Standard output belongs to the face that is open, so a ``print`` in a tool would land in the JSON of ``run``, or in the
middle of a line, escape sequences and all. A script that uses the library has no face, and its prints go where it says.

Invariant: only what the function itself prints is taken; what other threads print goes where it went. What a program
prints that the function starts is beyond this.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, cast

_taker: contextvars.ContextVar[Callable[[str], None] | None] = contextvars.ContextVar("taker", default=None)


def prints_go_to(emit: Callable[[str], None]) -> None:
    """Let what is printed in this context (``contextvars``) go to ``emit``, where a face has set prints apart."""
    _taker.set(emit)


@contextlib.contextmanager
def prints_apart() -> Iterator[None]:
    """Set apart what tools print, for as long as a face is open."""
    real = sys.stdout, sys.stderr
    own = _apart(real[0]), _apart(real[1])
    sys.stdout, sys.stderr = own
    try:
        yield
    finally:
        if (sys.stdout, sys.stderr) == own:  # else somebody has put others in their place
            sys.stdout, sys.stderr = real


class _Divided:
    """A stream divided by who writes to it; in all else it is the real one."""

    def __init__(self, real: TextIO) -> None:
        self._real = real

    def write(self, text: str) -> int:
        emit = _taker.get()
        if emit is None:
            return self._real.write(text)
        emit(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for each in lines:
            self.write(each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _apart(stream: TextIO | None) -> TextIO:
    # Python has no stream where it was closed before the start.
    return cast("TextIO", stream if stream is None else _Divided(stream))
