"""The words after a slash: what the box takes for a command, and what it does not.

Invariant: a path is no command, and neither is a text of several lines; two slashes begin a message with one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.features import FEATURES
from skippy_chat.tui.keys import Action, Keyboard, keyboard_of
from skippy_chat.tui.shell import Shell

_TYPED = 20  # columns for how a command is typed
_COMMAND = re.compile(r"/([a-z?][a-z-]*)(?:[ \t]+(.*))?")


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed: a ``command`` without its slash and its ``argument``, or a ``message``."""

    command: str = ""
    message: str = ""
    argument: str = ""


class Commands:
    """Carries commands out."""

    def __init__(self, parts: Parts, features: Sequence[Feature] = FEATURES) -> None:
        self._parts = parts
        self.table = table(features)
        for feature in features:
            if feature.install is not None:
                feature.install(parts)

    def carry_out(self, typed: Typed) -> bool:
        """Do what a typed command says; False, with the reason in the status bar, when that cannot be now."""
        parts = self._parts
        command = self.table.get(typed.command)
        if command is None:
            parts.bar.change(hint=unknown(typed.command))
            return False
        if typed.argument and not command.usage:
            name = typed.command
            parts.bar.change(hint=f"/{name} takes no words. //{name} … sends the text as a message.")
            return False
        if command.needs == "open" and not parts.turns.opened:
            parts.bar.change(hint="Not yet.")
            return False
        if command.needs == "free" and not parts.turns.free:
            parts.bar.change(hint="Not now: stop the answer first (Esc)." if parts.turns.busy else "Not yet.")
            return False
        return command.run(parts, typed.argument) is not False


def table(features: Sequence[Feature] = FEATURES) -> dict[str, AppCommand]:
    """Return every command by each of its names, ``quit`` and ``help`` last."""
    commands = [command for feature in features for command in feature.commands]

    def show_help(parts: Parts, _argument: str) -> None:
        assert isinstance(parts.app, Shell)
        keys = parts.app.keyboard
        told = [_told(command, keys.of(command.name)) for command in commands]
        parts.show("Commands", "\n".join([*told, "", keys.told]))

    def leave(parts: Parts, _argument: str) -> None:
        # What stands in the box is kept as a draft; the command is not in it any more.
        for listen in parts.opening.leaving:
            listen()
        parts.app.exit(0)

    commands.append(
        AppCommand("quit", "leave; everything is kept", leave, key="ctrl+q", other_names=("exit",))
    )
    commands.append(AppCommand("help", "this list", show_help, other_names=("?",)))
    return {name: command for command in commands for name in (command.name, *command.other_names)}


def _told(command: AppCommand, key: str) -> str:
    """Return how a command is typed, what it does and its key; below each other where the first is long."""
    does = f"{command.does} ({key})" if key else command.does
    gap = "\n" + " " * _TYPED if len(command.shown) > _TYPED - 2 else ""
    return f"{command.shown:<{0 if gap else _TYPED}}{gap}{does}"


def keyboard(
    wanted: Mapping[str, Sequence[str]], place: str = "keys", features: Sequence[Feature] = FEATURES
) -> Keyboard:
    """Return the keys of actions and commands, changed as the setting ``keys`` says, which stands in ``place``.

    Raises:
        ConfigError: a name that nothing has, or a key that two would have.
    """
    commands = {id(command): command for command in table(features).values()}.values()
    return keyboard_of(
        [
            Action(
                each.name,
                each.does,
                f"command('{each.name}')",
                tuple(each.key.split(",")) if each.key else (),
                each.shown,
            )
            for each in commands
        ],
        wanted,
        place,
    )


def read(text: str) -> Typed:
    """Return what a text in the box means: a line that begins with a command's name is one, whatever follows it."""
    match = _COMMAND.fullmatch(text)
    if match is not None:
        argument = (match[2] or "").strip()
        if not argument or match[1] in _TABLE:
            return Typed(command=match[1], argument=argument)
    return Typed(message=text[1:] if text.startswith("//") else text)


def unknown(command: str) -> str:
    """Return what to say about a command that there is not."""
    close = difflib.get_close_matches(command, _TABLE, n=1)
    hint = f"Did you mean /{close[0]}?" if close else "/help lists them."
    return f"There is no command /{command}. {hint} //{command} sends it as a message."


_TABLE = table()
