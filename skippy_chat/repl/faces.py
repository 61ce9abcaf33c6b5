"""Which face fits: the terminal one needs a terminal at both ends that can move its cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

from skippy_chat.repl.face import Face
from skippy_chat.repl.plain import PlainFace
from skippy_chat.talk import on_terminal


def choose_face(
    stdin: TextIO,
    stdout: TextIO,
    *,
    env: Mapping[str, str],
    monotonic: Callable[[], float],
    plain: bool,
) -> Face:
    """Return the face for these streams; ``plain``, a pipe or TERM=dumb gives the plain one."""
    dumb = env.get("TERM", "dumb") in {"dumb", "unknown", ""}
    if plain or dumb or not (on_terminal(stdin) and on_terminal(stdout)):
        return PlainFace(stdin, stdout, monotonic)
    from skippy_chat.repl.terminal import open_terminal  # noqa: PLC0415 - prompt_toolkit takes its time

    return open_terminal(stdin, stdout, env=env, monotonic=monotonic)
