"""Personas: system prompts with a name and some settings, one Markdown file each.

    +++
    description = "Reads code"
    temperature = 0.2
    tools = ["read_file", "search_files"]
    +++
    You review code. Be brief.

Invariant: a persona says only what shapes answers and which tools are offered, never who may run them; one that came
with a workspace offers none, and is not even looked for unless the workspace is trusted.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.errors import ConfigError
from skippy_chat.setting_table import PERSONA_NAME, checked, persona_keys, refuse_unknown
from skippy_chat.toml_file import TomlText, parse_toml, read_text

_FENCE = "+++"
_ABOUT = "description"
_MOST_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A folder of Markdown files with names; ``of_project``: it came with a workspace, which is trusted."""

    path: Path
    of_project: bool = False


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona as its file says: ``values`` are settings by key, checked, as TOML has them; ``places`` say where."""

    name: str
    file: Path
    system: str | None
    description: str
    values: Mapping[str, object]
    places: Mapping[str, str]
    of_project: bool


def find_persona(name: str, folders: Sequence[NamedFolder], place: str) -> Persona:
    """Return the persona of that name from the first folder that has it; ``place`` is where the name was said.

    Raises:
        ConfigError: there is none, or its file says what it may not.
    """
    found = named_files(folders)
    if name in found:
        folder, file = found[name]
        return read_persona(name, file, of_project=folder.of_project)
    close = difflib.get_close_matches(name, found, n=1)
    where = folders[0].path / f"{name}.md" if folders else Path(f"personas/{name}.md")
    hint = f"Did you mean {close[0]}?" if close else f"Write {where}, or see: skippy-chat personas list"
    raise ConfigError(f"{place}: there is no persona {name}.", hint)


def named_files(folders: Sequence[NamedFolder]) -> dict[str, tuple[NamedFolder, Path]]:
    """Return the Markdown files of these folders by name, sorted; of two with one name the earlier folder's counts."""
    found: dict[str, tuple[NamedFolder, Path]] = {}
    for folder in folders:
        try:
            files = [each for each in folder.path.iterdir() if each.suffix == ".md" and each.is_file()]
        except OSError:  # none is no fault; one that cannot be listed has nothing to offer
            continue
        for file in files:
            if re.fullmatch(PERSONA_NAME, file.stem):
                found.setdefault(file.stem, (folder, file))
    return dict(sorted(found.items()))


def read_persona(name: str, file: Path, *, of_project: bool) -> Persona:
    """Read and check one persona.

    Raises:
        ConfigError: the file cannot be read, or says what a persona may not; it names the line.
    """
    front, body = split_front_matter(file, of_project=of_project)
    values: dict[str, object] = {}
    places: dict[str, str] = {}
    allowed = persona_keys(of_project=of_project)
    for key, given in front.values.items():
        place = front.place(key)
        if key == _ABOUT:
            continue
        refuse_unknown(key, place)
        if key not in allowed:
            whose = "a project's persona" if of_project else "a persona"
            raise ConfigError(f"{place}: {whose} may not set this.", f"It may set: {', '.join(allowed)}.")
        checked(key, given, place)
        values[key] = given
        places[key] = place
    return Persona(name, file, body or None, _about(front), values, places, of_project)


def split_front_matter(file: Path, *, of_project: bool) -> tuple[TomlText, str]:
    """Return a Markdown file's front matter, which may be missing, and the text behind it.

    Raises:
        ConfigError: it cannot be read, is too long, leads out of a project, or has no proper front matter.
    """
    if of_project and not file.resolve().is_relative_to(file.parent.resolve()):
        raise ConfigError(f"{file} leads out of its folder.", "Put the file itself there.")
    try:
        too_long = file.stat().st_size > _MOST_BYTES
    except OSError:
        too_long = False  # reading it will say why
    if too_long:
        raise ConfigError(f"{file} is longer than {_MOST_BYTES >> 10} KiB.", "Shorten it.")
    text = read_text(file)
    if text is None:
        raise ConfigError(f"{file} is gone.", "Try again.")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() == "---":
        raise ConfigError(
            f"{file}, line 1: front matter is TOML, between two lines of {_FENCE}.",
            f"Write {_FENCE} for ---, and key = value for key: value.",
        )
    if lines[0].strip() != _FENCE:
        return TomlText(file, "", {}), text.replace("\r\n", "\n").strip()
    end = next((number for number, line in enumerate(lines) if number and line.strip() == _FENCE), None)
    if end is None:
        raise ConfigError(
            f"{file}, line 1: the front matter has no end.", f"Write {_FENCE} on a line behind it."
        )
    front = parse_toml("\n".join(lines[1:end]), file, first_line=2)
    return front, "\n".join(lines[end + 1 :]).strip()


def _about(front: TomlText) -> str:
    about = front.values.get(_ABOUT, "")
    if not isinstance(about, str):
        raise ConfigError(f"{front.place(_ABOUT)}: text is wanted.", 'Write description = "…".')
    return about
