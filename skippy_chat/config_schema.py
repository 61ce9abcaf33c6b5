"""JSON Schemas of the two settings files, for editors: the person's own and a project's.

Invariant: they are made from the table of settings, so that a file that fits is taken. (Not the other way round: a
number in quotes is taken, too.)
"""

from __future__ import annotations

from typing import Any

from skippy_chat.config import Settings
from skippy_chat.setting_table import TABLE, project_keys

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_RULE: dict[str, Any] = {
    "type": "object",
    "description": "A rule of approval; a project's may only ask or deny.",
    "properties": {
        "tool": {"type": "string", "minLength": 1, "description": 'A tool\'s name, or "*".'},
        "pattern": {"type": "string", "description": "Which of its calls; empty: all."},
        "action": {"enum": ["ask", "deny"]},
    },
    "required": ["tool", "action"],
    "additionalProperties": False,
}


def config_schema(*, of_project: bool) -> dict[str, Any]:
    """Return the JSON Schema of ``config.toml``, or of a project's ``.skippy-chat.toml``."""
    names = project_keys() if of_project else tuple(TABLE)
    properties = {name: _property(name) for name in names}
    if of_project:
        properties["rule"] = {"type": "array", "items": _RULE}
    return {
        "$schema": _DRAFT,
        "title": f"skippy-chat: {'.skippy-chat.toml' if of_project else 'config.toml'}",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _property(name: str) -> dict[str, Any]:
    default = getattr(Settings(), name)
    shown = list(default) if isinstance(default, tuple) else default
    about: dict[str, Any] = {"description": TABLE[name].meaning}
    if default is not None:
        about["default"] = shown
    return {**about, **TABLE[name].kind.schema}
