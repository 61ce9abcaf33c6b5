"""Telling through the terminal that an answer, or a question, is there: a bell, or a notification of the desktop.

Both faces make one ``Notifier``. The app knows whether its terminal has the focus; a line reader does not,
and says None.

    notifier = Notifier(settings.notify, settings.notify_after, env, write)   # write: None where there is no terminal
    notifier.tell("The answer is there.", seconds=41.0, focused=None)

Invariant: nothing is written but to a terminal, and what is written carries no control character but its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, final

from skippy_chat.setting_table import Notify
from skippy_chat.text.sanitise import sanitise

ANSWERED = "The answer is there."
FAILED = "The turn ended without an answer."
ASKED = "A call waits for your answer."

_LONGEST = 200
_NAME = "skippy-chat"
_BELL = "\x07"
# Terminals that show what OSC 9 and OSC 777 say; the others get a bell, which every one has.
_OSC9_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "ghostty"})
_OSC9_TERMS = ("xterm-kitty", "xterm-ghostty", "wezterm")
_OSC777_TERMS = ("foot", "rxvt-unicode")

_Way = Literal["bell", "osc9", "osc777", "off"]


@final
class Notifier:
    """Tells a person who may look elsewhere."""

    def __init__(
        self, how: Notify, after: float, env: Mapping[str, str], write: Callable[[str], object] | None
    ) -> None:
        """``after`` is seconds of work; ``write`` writes to the terminal as it is, and is None in pipes."""
        self._way = _way(how, env)
        self._after = after
        self._inside_tmux = bool(env.get("TMUX"))
        self._write = write

    def tell(self, text: str, *, seconds: float, focused: bool | None) -> bool:
        """Tell ``text`` after ``seconds`` of work, if it is due; tell whether it was.

        It is due where the terminal is known not to have the focus, and after long work in any case.
        """
        if self._write is None or self._way == "off" or (focused is not False and seconds < self._after):
            return False
        self._write(self._sequence(text))
        return True

    def _sequence(self, text: str) -> str:
        clean = " ".join(sanitise(text, strip_format=True).split())[:_LONGEST]
        if self._way == "osc9":
            return self._passed(f"\x1b]9;{_NAME}: {clean}{_BELL}")
        if self._way == "osc777":
            return self._passed(f"\x1b]777;notify;{_NAME};{clean.replace(';', ',')}{_BELL}")
        return _BELL

    def _passed(self, sequence: str) -> str:
        """Return a sequence as tmux passes it on to the terminal around it."""
        if not self._inside_tmux:
            return sequence
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def _way(how: Notify, env: Mapping[str, str]) -> _Way:
    if how != "auto":
        return how
    if env.get("TMUX") or env.get("STY"):
        return "bell"  # what multiplexers show by themselves; other sequences pass only where that is allowed
    term = env.get("TERM", "")
    if env.get("TERM_PROGRAM") in _OSC9_PROGRAMS or term.startswith(_OSC9_TERMS):
        return "osc9"
    return "osc777" if term.startswith(_OSC777_TERMS) else "bell"
