"""The words after a slash: what the box takes for a command, and what it does not.

Invariant: a path is no command, and neither is a text of several lines; two slashes begin a message with one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.exporting import export_here
from skippy_chat.tool_wording import tools_text
from skippy_chat.tui.keys import KEYS_TOLD
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.turns import Turns

_COMMAND = re.compile(r"/([a-z?]+)[ \t]*|/(export|rename)[ \t]+(.+)")
_OF_SESSION = ("continue", "undo", "export", "rename")
HELP = {
    "/continue": "go on with a turn that was stopped, or that a limit ended",
    "/undo": "put back the files that the newest turn wrote",
    "/tools": "the tools that the model is offered",
    "/export": "write the conversation to a file: /export [md|json|html] [FILE]",
    "/rename": "give the session another name: /rename TITLE",
    "/help": "this list",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed: a ``command`` without its slash and its ``argument``, or a ``message``."""

    command: str = ""
    message: str = ""
    argument: str = ""


class Commands:
    """Carries commands out."""

    def __init__(
        self, turns: Turns, bar: StatusBar, show: Callable[[str, str], object], working_folder: Path
    ) -> None:
        """``show`` puts a title and a text over the app, to be read; exports go into ``working_folder``."""
        self._working_folder = working_folder
        self._turns = turns
        self._bar = bar
        self._show = show

    def carry_out(self, typed: Typed) -> bool:
        """Do what a typed command says; False, with the reason in the status bar, when that cannot be now."""
        command = typed.command
        if command == "tools":
            self._show("Tools", tools_text(self._turns.tools))
        elif command in ("help", "?"):
            told = "\n".join(f"{name:<10} {does}" for name, does in HELP.items())
            self._show("Commands", f"{told}\n\n{KEYS_TOLD}")
        elif command not in _OF_SESSION:
            self._bar.change(hint=unknown(command))
            return False
        elif command == "rename" and not typed.argument:
            self._bar.change(hint="Give a name: /rename TITLE")
            return False
        elif not self._turns.free:
            self._bar.change(hint="Not now: stop the answer first (Esc)." if self._turns.busy else "Not yet.")
            return False
        elif command == "undo":
            self._turns.undo()
        elif command == "export":
            self._turns.do(
                lambda conversation: export_here(conversation, typed.argument, self._working_folder)
            )
        elif command == "rename":
            self._turns.do(
                lambda conversation: f"This session is {conversation.rename(typed.argument).name} now."
            )
        else:
            self._turns.go_on()
        return True


def read(text: str) -> Typed:
    """Return what a text in the box means."""
    if (match := _COMMAND.fullmatch(text)) is not None:
        return Typed(command=match[1] or match[2], argument=(match[3] or "").strip())
    return Typed(message=text[1:] if text.startswith("//") else text)


def unknown(command: str) -> str:
    """Return what to say about a command that there is not."""
    close = difflib.get_close_matches(f"/{command}", HELP, n=1)
    hint = f"Did you mean {close[0]}?" if close else "/help lists them."
    return f"There is no command /{command}. {hint} //{command} sends it as a message."
