"""Which settings of a session go with it to another machine or person.

Invariant: what shapes answers travels; what a person allows is said where it holds. So nothing in a file that somebody
sent lets more pass than a new session here would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skippy_chat.config import load_settings
from skippy_chat.errors import ConfigError

PINNED_TIME = "pinned_time"
_TRAVELS = (
    "model", "ctx", "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "reasoning", "system", "kv_type",
    "tools",
)  # fmt: skip
_LATEST = 1 << 37  # seconds since the epoch, beyond the year 6000


def settings_that_travel(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an export takes along of a session's settings, and an import takes over."""
    found = {key: kept[key] for key in _TRAVELS if kept.get(key) is not None}
    if kept.get("sandbox") is True:
        found["sandbox"] = True  # it only holds back; false would open what a file of the person's closes
    if isinstance(kept.get(PINNED_TIME), int):
        found[PINNED_TIME] = kept[PINNED_TIME]
    return found


def check_settings(kept: Mapping[str, Any]) -> None:
    """Check settings that travelled.

    Raises:
        ConfigError: a value does not fit; it names the setting.
    """
    load_settings(flags={}, session=kept)
    if not 0 <= kept.get(PINNED_TIME, 0) <= _LATEST:
        raise ConfigError(f"session setting {PINNED_TIME}: it is no time.", "Leave it out.")
