"""Settings that an open conversation takes up at once: how answers are drawn, how long they get, whether it reasons.

Invariant: what is taken up fits the table of settings, and a session keeps what it would keep anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skippy_chat.config import Settings
from skippy_chat.errors import UsageError
from skippy_chat.setting_table import TABLE, checked

ADJUSTABLE = ("reasoning", "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "titles")
"""The settings that hold from the next step on; every other one holds when a session is opened."""


def adjusted(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return settings with some of them changed.

    Raises:
        UsageError: one cannot be changed while a session is open.
        ConfigError: a value does not fit.
    """
    if wrong := next((key for key in changes if key not in ADJUSTABLE), ""):
        raise UsageError(
            f"{wrong} cannot be changed while a session is open.", f"These can: {', '.join(ADJUSTABLE)}."
        )
    values: dict[str, Any] = {key: checked(key, value, f"key {key}") for key, value in changes.items()}
    sources = {**settings.sources, **{key: f"session setting {key}" for key in changes}}
    return replace(settings, **values, sources=sources)


def kept_of(settings: Settings, keys: Mapping[str, object]) -> dict[str, Any]:
    """Return what a session keeps of these settings; None takes one away, so that the files' counts again."""
    found = settings.for_session()
    return {key: found.get(key) for key in keys if TABLE[key].kept}
