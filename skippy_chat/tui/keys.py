"""The app's own keys; the composer, the messages and the picker have theirs beside them.

Keys of actions and commands can be changed by the setting ``keys``; those that everybody must be able to rely on
(Ctrl-C, Ctrl-D, Esc, Enter, arrows) cannot.

Invariant: a letter is a key only where nothing can be typed: while a session is read-only. No key has two meanings.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from textual.binding import Binding

from skippy_chat.errors import ConfigError
from skippy_chat.key_names import shown_key

FIXED: tuple[Binding, ...] = (
    Binding("ctrl+c", "interrupt", "Stop, clear, leave", system=True),
    Binding("ctrl+d", "end_of_input", "Leave"),
    Binding("escape", "escape", "Stop"),
    Binding("end", "follow", "Follow"),
    Binding("up", "step(-1)", "Message above"),
    Binding("down", "step(1)", "Message below"),
    Binding("pageup", "page(-1)", "Page up"),
    Binding("pagedown", "page(1)", "Page down"),
    Binding("f", "fork", "Go on in a copy"),
    Binding("t", "try_again", "Try again"),
    Binding("u", "look_again", "Show what is new"),
)
# A key in braces is the one that the action or command of that name has.
KEYS_TOLD = """\
Enter       sends; queues while the model is busy
Ctrl-J      new line
Esc         stops the turn, leaves an edit or the messages
Ctrl-C      stops, clears, and at the second time leaves
{regenerate} answers your last message again
{details} shows in full what the newest turn thought and did, or folds it
Up          in an empty box: edits your last message
Shift-Tab   to the messages, or to a question; there Up and Down move
e, r        on a message: edit it; unfold it
E           on a message: edit it in your own editor
y, c        on a message: copy it, or its code
x           on a message: leave out its turn
[, ], Home  on a message: to your message above, below, to the first
Left, Right on a message: its other versions
{follow} goes to the end and follows it
{palette} the palette: every command, session and theme"""
OF_READ_ONLY = frozenset({"fork", "try_again", "look_again"})
_WIDTH = 11


@dataclass(frozen=True, slots=True)
class Action:
    """Something that keys do: ``name`` is what ``keys`` calls it, ``action`` what Textual does.

    ``typed`` is how it is typed, with its arguments, where it is a command.
    """

    name: str
    does: str
    action: str
    keys: tuple[str, ...] = ()
    typed: str = ""

    @property
    def shown(self) -> str:
        """Its keys as help shows them; empty when it has none."""
        return ", ".join(shown_key(each) for each in self.keys)


ACTIONS: tuple[Action, ...] = (
    Action("details", "unfold what the newest turn thought and did, or fold it", "details", ("ctrl+o",)),
    Action("follow", "go to the end and follow it", "follow", ("ctrl+end",)),
)


@dataclass(frozen=True, slots=True)
class Keyboard:
    """Every action and command with the keys that it has; ``defaults`` are those that come with the program."""

    actions: tuple[Action, ...]
    defaults: tuple[Action, ...]

    def changed(self, wanted: Mapping[str, Sequence[str]], place: str = "keys") -> Keyboard:
        """Return it with the keys that are ``wanted`` instead of those that come with the program.

        Raises:
            ConfigError: a name that nothing has, or a key that two would have.
        """
        return keyboard_of(self.defaults, wanted, place)

    def of(self, name: str) -> str:
        """Return the keys of an action or command, as help shows them; empty when it has none."""
        return next((each.shown for each in self.actions if each.name == name), "")

    @property
    def bindings(self) -> list[Binding]:
        """All keys, as Textual wants them."""
        bound = [
            Binding(key, each.action, each.does.capitalize(), priority=True)
            for each in self.actions
            for key in each.keys
        ]
        return [*FIXED, *bound]

    @property
    def told(self) -> str:
        """What keys do, for help."""
        return re.sub(
            r"^\{([a-z-]+)\} *",
            lambda found: f"{self.of(found[1]) or 'no key':<{_WIDTH}} ",
            KEYS_TOLD,
            flags=re.MULTILINE,
        )

    @property
    def listed(self) -> str:
        """Every action and command by the name that ``keys`` takes, with its keys."""
        width = max(len(each.name) for each in self.actions)
        key_width = max(len(each.shown) for each in self.actions)
        return "\n".join(
            f"{each.name:<{width}}  {each.shown or '-':<{key_width}}  {each.does}" for each in self.actions
        )


def keyboard_of(
    actions: Sequence[Action], wanted: Mapping[str, Sequence[str]], place: str = "keys"
) -> Keyboard:
    """Give actions the keys that are ``wanted`` for some of them; of two with one name the later one counts.

    Raises:
        ConfigError: a name that nothing has, or a key that two would have; it names ``place``.
    """
    named = {each.name: each for each in (*ACTIONS, *actions)}
    for name in wanted:
        if name not in named:
            close = difflib.get_close_matches(name, named, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(named)}."
            raise ConfigError(f"{place}: there is no command or action {name!r}.", hint)
    found = tuple(replace(each, keys=tuple(wanted.get(each.name, each.keys))) for each in named.values())
    owners: dict[str, str] = {}
    for each in found:
        for key in each.keys:
            if key in owners:
                first, second = owners[key], each.name
                if second in wanted and first not in wanted:
                    first, second = second, first
                raise ConfigError(
                    f"{place}: {shown_key(key)} would be the key of {first} and of {second}.",
                    f'Give one of them another key, or none: {second} = "none"',
                )
            owners[key] = each.name
    return Keyboard(found, tuple(named.values()))
