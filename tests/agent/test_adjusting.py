"""Settings that an open conversation takes up, and what the session keeps of them."""

from __future__ import annotations

import pytest

from skippy_chat.agent.adjusting import ADJUSTABLE, adjusted, kept_of
from skippy_chat.config import Settings, load_settings
from skippy_chat.errors import ConfigError, UsageError
from skippy_chat.setting_table import TABLE


def test_values_are_checked_and_typed() -> None:
    settings = adjusted(Settings(), {"temperature": "0.2", "reasoning": "off", "seed": 7})
    assert (settings.temperature, settings.reasoning, settings.seed) == (0.2, False, 7)
    assert settings.sources["temperature"] == "session setting temperature"
    with pytest.raises(ConfigError, match="must be from 0 to 5"):
        adjusted(Settings(), {"temperature": "9"})


def test_what_needs_a_model_to_be_loaded_again_is_refused() -> None:
    assert set(ADJUSTABLE) < set(TABLE)
    for key in set(TABLE) - set(ADJUSTABLE):
        with pytest.raises(UsageError, match="cannot be changed while a session is open"):
            adjusted(Settings(), {key: "1"})


def test_a_session_keeps_what_sessions_keep() -> None:
    changes = {"temperature": "0.2", "seed": "auto", "titles": "off"}
    settings = adjusted(Settings(seed=3), changes)
    kept = kept_of(settings, changes)
    assert kept == {"temperature": 0.2, "seed": None}
    again = load_settings(flags={}, session={key: each for key, each in kept.items() if each is not None})
    assert again.temperature == 0.2
