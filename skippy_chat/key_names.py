"""Names of keys that a person may give to commands: which a terminal can send, and which are taken for good.

Invariant: what passes is a name as the app's toolkit has it, of a key that arrives as itself in every usual
terminal and types nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FAR = "up|down|left|right|home|end|pageup|pagedown|insert|delete"
SENDABLE = (
    r"ctrl\+(?:[abefgklnopqrstuvwxyz@]|underscore|backslash|right_square_bracket|circumflex_accent)"
    r"|alt\+[a-z0-9]|f(?:[1-9]|1[0-9]|2[0-4])"
    rf"|(?:ctrl|shift|alt|ctrl\+shift)\+(?:{_FAR})|insert"
)
"""A pattern of the names that fit."""

_SENDABLE = re.compile(SENDABLE)
# Other ways to write a key.
_SAME: Mapping[str, str] = {
    "esc": "escape",
    "return": "enter",
    "ctrl+space": "ctrl+@",
    "ctrl+_": "ctrl+underscore",
    "ctrl+/": "ctrl+underscore",
    "ctrl+slash": "ctrl+underscore",
    "ctrl+\\": "ctrl+backslash",
    "ctrl+]": "ctrl+right_square_bracket",
    "ctrl+^": "ctrl+circumflex_accent",
    "ctrl+pgup": "ctrl+pageup",
    "ctrl+pgdn": "ctrl+pagedown",
}
_SHORT: Mapping[str, str] = {
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
    "@": "Space",
    "underscore": "_",
    "backslash": "\\",
    "right_square_bracket": "]",
    "circumflex_accent": "^",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "escape": "Esc",
}
_TAKEN: Mapping[str, str] = {
    "ctrl+c": "stops, clears and leaves",
    "ctrl+d": "leaves",
    "escape": "stops and goes back",
    "enter": "sends",
    "tab": "moves on",
    "shift+tab": "goes to the messages",
    "ctrl+j": "begins a new line",
    "backspace": "edits",
    "delete": "edits",
    "up": "moves",
    "down": "moves",
    "left": "moves",
    "right": "moves",
    "home": "moves",
    "end": "moves",
    "pageup": "scrolls",
    "pagedown": "scrolls",
    "shift+enter": "begins a new line",
    "alt+enter": "begins a new line",
}
_ARRIVES_AS: Mapping[str, str] = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+[": "escape",
    "ctrl+enter": "enter",
    "ctrl+tab": "tab",
    "ctrl+backspace": "backspace",
}


def key_name(text: str) -> str:
    """Return the name of the key that ``text`` means: ``ctrl+g``, and as help shows it, ``Ctrl-G``.

    Raises:
        ValueError: no such key, it types something, it is taken, or most terminals cannot send it; it says which.
    """
    name = re.sub(r"(?<=.)-(?=.)", "+", text.strip().lower()).replace("control+", "ctrl+")
    name = _SAME.get(name, name)
    if name.startswith("shift+ctrl+"):
        name = f"ctrl+shift+{name[len('shift+ctrl+') :]}"
    if _SENDABLE.fullmatch(name):
        return name
    hint = "Use ctrl+ or alt+ and a letter, f1 to f24, or ctrl+, alt+ or shift+ and an arrow key."
    if name in _TAKEN:
        raise ValueError(f"{shown_key(name)} {_TAKEN[name]}, always", hint)
    if name in _ARRIVES_AS:
        told = f"terminals send {shown_key(_ARRIVES_AS[name])} for {shown_key(name)}"
        raise ValueError(told, hint)
    if re.fullmatch(r"ctrl\+shift\+[a-z]", name):
        raise ValueError(f"most terminals send {shown_key(f'ctrl+{name[-1]}')} for {shown_key(name)}", hint)
    if len(name) == 1 or name == "space":
        raise ValueError(f"{name!r} alone is typed into the box", hint)
    raise ValueError(f"terminals have no key {text.strip()!r} that arrives as itself", hint)


def shown_key(name: str) -> str:
    """Return a key as help shows it: ``Ctrl-G``."""
    parts = [_SHORT.get(each, each.capitalize()) for each in name.split("+")]
    return "-".join(parts)
