"""Settings in words, for every face: values, where they come from, and when a change of the config file holds.

Invariant: what is said here about a setting follows from the table of settings and from what a conversation can adjust.
"""

from __future__ import annotations

from collections.abc import Mapping

from skippy_chat.agent.adjusting import ADJUSTABLE
from skippy_chat.config import Settings
from skippy_chat.setting_table import TABLE

_APP = frozenset({"theme", "keys"})
_START = frozenset({"typed_history", "notify", "notify_after"})
_NEW = frozenset({"agents_file"})
# Sessions keep these only where they were typed, or hold the model back.
_OPENING = frozenset({"approve", "sandbox"})


def value_text(value: object) -> str:
    """Return a setting's value, as it may be typed; empty for one that is not set."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_words(keys) or 'none'}" for name, keys in value.items()) or "none"
    if isinstance(value, (tuple, list)):
        return ",".join(str(each) for each in value) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def unset_text(key: str) -> str:
    """Return what holds where a setting is not set: its default."""
    default = getattr(Settings(), key)
    return TABLE[key].unset if default is None else value_text(default)


def holds(key: str) -> str:
    """Return when a change in the config file holds."""
    if key in _APP or key in ADJUSTABLE:
        return "at once"
    if key in _START:
        return "at the next start"
    if key not in _OPENING and (key in _NEW or TABLE[key].kept):
        return "in new sessions"
    return "when a session is opened next"


def source_text(source: str) -> str:
    """Return where a value comes from, in a word or two."""
    if source.startswith("session "):
        return "session"
    if source.startswith("-c "):
        return "-c"
    if ", line " in source:
        return source.rpartition("/")[2].partition(", key ")[0]
    return source


def _words(keys: object) -> str:
    return keys if isinstance(keys, str) else " ".join(str(each) for each in keys)  # type: ignore[attr-defined]
