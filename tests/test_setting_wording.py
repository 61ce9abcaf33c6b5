"""Settings in words."""

from __future__ import annotations

import pytest

from skippy_chat.agent.adjusting import ADJUSTABLE
from skippy_chat.config import KEYS, Settings, load_settings
from skippy_chat.setting_table import TABLE
from skippy_chat.setting_wording import holds, source_text, unset_text, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (0.25, "0.25"),
        ((), "none"),
        (("a", "b"), "a,b"),
        ({}, "none"),
        ({"tools": ("f8", "alt+x"), "details": ()}, "tools=f8 alt+x, details=none"),
    ],
)
def test_values_are_shown_as_they_are_typed(value: object, text: str) -> None:
    assert value_text(value) == text


def test_what_is_shown_can_be_typed_again() -> None:
    said = load_settings(
        flags={
            "tools": "read_file,default",
            "keys": "tools=f8 alt+x,details=none",
            "seed": 7,
            "disk_budget": "2GiB",
        }
    )
    for key in KEYS:
        value = getattr(said, key)
        if value is not None:
            assert getattr(load_settings(flags={key: value_text(value)}), key) == value, key


def test_what_holds_where_nothing_is_said() -> None:
    assert unset_text("temperature") == "0.7"
    assert unset_text("seed") == "another one for each answer"
    assert all(unset_text(key) for key in KEYS)


def test_when_a_change_of_the_file_holds() -> None:
    for key in ADJUSTABLE:
        assert holds(key) == "at once"
    assert {holds(key) for key in KEYS} == {
        "at once", "at the next start", "in new sessions", "when a session is opened next",
    }  # fmt: skip
    assert holds("ctx") == holds("model") == "in new sessions"
    assert holds("threads") == "when a session is opened next"
    for key in KEYS:
        kept_always = TABLE[key].kept and key in Settings(model="m", system="s", tools=()).for_session()
        if kept_always and key not in ADJUSTABLE:
            assert holds(key) == "in new sessions", key


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("default", "default"),
        ("/home/me/config.toml, line 3, key ctx", "config.toml, line 3"),
        ("session setting ctx", "session"),
        ("-c ctx", "-c"),
        ("--ctx", "--ctx"),
        ("SKIPPY_CTX", "SKIPPY_CTX"),
    ],
)
def test_sources_in_a_word_or_two(source: str, text: str) -> None:
    assert source_text(source) == text
