"""The words after a slash: what the box takes for a command, and what it does not.

Invariant: a path is no command, and neither is a text of several lines; two slashes begin a message with one.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

_COMMAND = re.compile(r"/([a-z?]+)[ \t]*")
HELP = {
    "/continue": "go on with a turn that was stopped, or that a limit ended",
    "/undo": "put back the files that the newest turn wrote",
    "/tools": "the tools that the model is offered",
    "/help": "this list",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed: a ``command`` without its slash, or a ``message``."""

    command: str = ""
    message: str = ""


def read(text: str) -> Typed:
    """Return what a text in the box means."""
    if (match := _COMMAND.fullmatch(text)) is not None:
        return Typed(command=match[1])
    return Typed(message=text[1:] if text.startswith("//") else text)


def unknown(command: str) -> str:
    """Return what to say about a command that there is not."""
    close = difflib.get_close_matches(f"/{command}", HELP, n=1)
    hint = f"Did you mean {close[0]}?" if close else "/help lists them."
    return f"There is no command /{command}. {hint} //{command} sends it as a message."
