"""The table of settings, as Markdown."""

from __future__ import annotations

import json

from skippy_chat.config import Settings
from skippy_chat.setting_table import TABLE, Key, project_keys
from skippy_chat.setting_wording import holds

_PROJECT = {"no": "", "yes": "yes", "tighter": "only stricter"}


def settings_table() -> str:
    """Return a row for each key: what it is, what fits, its default, and where it may be said."""
    lines = [
        "| key | what it is | value | default | option | session | project | persona | a change holds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, key in TABLE.items():
        cells = [
            f"`{name}`", key.meaning, key.kind.told, _default(name, key), f"`{key.flag}`" if key.flag else "",
            "kept" if key.kept else "", _PROJECT[key.in_project], "yes" if key.in_persona else "",
            holds(name),
        ]  # fmt: skip
        lines.append("| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |")
    return "\n".join(lines)


def project_list() -> str:
    """Return the keys of a project file in a sentence."""
    free = [f"`{name}`" for name in project_keys() if TABLE[name].in_project == "yes"]
    tighter = [f"`{name}`" for name in project_keys() if TABLE[name].in_project == "tighter"]
    return f"Freely: {', '.join(free)}. Only stricter than without it: {', '.join(tighter)}."


def _default(name: str, key: Key) -> str:
    value = getattr(Settings(), name)
    if value is None:
        return key.unset
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"
