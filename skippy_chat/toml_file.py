"""Reading TOML that a person wrote, so that every mistake is told with its file, line and key.

Invariant: a file that is missing is empty; any other that cannot be read, or is no TOML, is an error.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.errors import ConfigError

# By name: a type checker that looks at one Python version would miss the other's module.
_toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


@dataclass(frozen=True, slots=True)
class TomlText:
    """TOML as it was read: ``first_line`` is where ``content`` begins in the file ``path``."""

    path: Path
    content: str
    values: Mapping[str, Any]
    first_line: int = 1

    def place(self, key: str) -> str:
        """Return where a top-level key stands, for errors and ``config show``."""
        line = line_of(self.content, key)
        return f"{self.path}{f', line {self.first_line + line}' if line is not None else ''}, key {key}"


def read_text(path: Path) -> str | None:
    """Return a file's text; None when it is missing.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"Cannot read {path}: {error.strerror or error}.", "Mend its rights or remove it."
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8.", "Save the file as UTF-8.") from error


def read_toml(path: Path) -> TomlText:
    """Read a TOML file.

    Raises:
        ConfigError: it cannot be read, or is no TOML; it names the line.
    """
    return parse_toml(read_text(path) or "", path)


def parse_toml(content: str, path: Path, first_line: int = 1) -> TomlText:
    """Read TOML that stands in ``path`` from ``first_line`` on.

    Raises:
        ConfigError: it is no TOML; it names the line.
    """
    try:
        return TomlText(path, content, _toml.loads(content), first_line)
    except _toml.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else content.rstrip().count("\n") + 1
        told = re.sub(r" \(at (line|end).*\)$", "", str(error)) if first_line > 1 else str(error)
        raise ConfigError(
            f"{path}, line {line + first_line - 1}: not valid TOML: {told}.",
            'Lines look like: temperature = 0.7 or system = "Be brief."',
        ) from error


def line_of(content: str, key: str) -> int | None:
    """Return which line (from 0) sets a top-level key: the first that looks so and lies in no multi-line value."""
    lines = content.splitlines()
    for number, line in enumerate(lines):
        name = line.lstrip(" \t[").partition("=")[0].rstrip(" \t]").strip("\"'")
        if name == key or name.startswith(f"{key}."):
            try:
                _toml.loads("\n".join(lines[:number]))
            except _toml.TOMLDecodeError:
                continue
            return number
    return None
