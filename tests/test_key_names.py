"""Which keys may be given to commands."""

from __future__ import annotations

import re

import pytest

from skippy_chat.key_names import SENDABLE, key_name, shown_key


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ctrl+g", "ctrl+g"), ("Ctrl-G", "ctrl+g"), (" control+g ", "ctrl+g"), ("F5", "f5"), ("alt+x", "alt+x"),
        ("Ctrl-Space", "ctrl+@"), ("ctrl+/", "ctrl+underscore"), ("Shift-Ctrl-Up", "ctrl+shift+up"),
        ("ctrl+]", "ctrl+right_square_bracket"), ("insert", "insert"),
    ],
)  # fmt: skip
def test_names_are_brought_into_one_form(text: str, name: str) -> None:
    assert key_name(text) == name
    assert key_name(shown_key(name)) == name
    assert re.fullmatch(SENDABLE, name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ctrl+c", "Ctrl-C stops, clears and leaves, always"),
        ("esc", "Esc stops"),
        ("home key", "no key 'home key'"),
        ("escape", "Esc stops"),
        ("ctrl+i", "terminals send Tab for Ctrl-I"),
        ("ctrl+shift+p", "most terminals send Ctrl-P for Ctrl-Shift-P"),
        ("g", "'g' alone is typed into the box"),
        ("super+k", "no key 'super+k'"),
        ("f25", "no key 'f25'"),
        ("", "no key ''"),
    ],
)
def test_what_no_terminal_sends_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        key_name(text)


def test_what_the_app_needs_is_taken() -> None:
    for name in ("ctrl+c", "ctrl+d", "enter", "tab", "up", "pageup", "backspace"):
        with pytest.raises(ValueError, match="always"):
            key_name(name)


def test_keys_as_help_shows_them() -> None:
    assert [shown_key(each) for each in ("ctrl+pageup", "f5", "ctrl+@", "shift+up")] == [
        "Ctrl-PageUp", "F5", "Ctrl-Space", "Shift-Up",
    ]  # fmt: skip
