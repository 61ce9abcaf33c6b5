"""The built-in tools' names, descriptions and schemas, read from the one file that the default model was made for."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("schemas.json")


@dataclass(frozen=True, slots=True)
class Schema:
    """What a model reads about one tool; ``parameters`` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@functools.cache
def built_in_schemas() -> Mapping[str, Schema]:
    """Return the frozen schemas by name."""
    entries = json.loads(_FILE.read_text("utf-8"))
    return {each["name"]: Schema(each["name"], each["description"], each["parameters"]) for each in entries}
