"""Prompts of a person's own: Markdown files whose name becomes a slash command, with what is typed behind it put in.

    +++
    description = "Explain a word"
    +++
    Explain $ARGUMENTS in one sentence. Then use $1 in another.

Invariant: what is put in is never read again for places to put something in; a prompt is text, and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skippy_chat.errors import ConfigError
from skippy_chat.personas import NamedFolder, named_files, split_front_matter

_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])(?![A-Za-z0-9_])|\$\$")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as its file has it."""

    name: str
    file: Path
    description: str
    text: str
    of_project: bool = False

    @property
    def wants(self) -> bool:
        """Whether it has a place for what is typed behind its name."""
        return any(found[1] for found in _PLACE.finditer(self.text))


def find_prompts(folders: Sequence[NamedFolder]) -> tuple[dict[str, Prompt], list[ConfigError]]:
    """Return every usable prompt by name, and what is wrong with the others: one bad file hides no other."""
    found: dict[str, Prompt] = {}
    wrong: list[ConfigError] = []
    for name, (folder, file) in named_files(folders).items():
        try:
            found[name] = _read(name, file, of_project=folder.of_project)
        except ConfigError as error:  # noqa: PERF203 - a handful of files
            wrong.append(error)
    return found, wrong


def expand(prompt: Prompt, arguments: str) -> str:
    """Return the prompt with $ARGUMENTS replaced by all that was typed, and $1 to $9 by its words.

    A word that was not typed is empty, and ``$$`` is a dollar sign. Arguments that the prompt has no place for follow
    it, behind an empty line.
    """
    arguments = arguments.strip()
    words = arguments.split()

    def put(found: re.Match[str]) -> str:
        place = found[1]
        if place is None:
            return "$"
        if place == "ARGUMENTS":
            return arguments
        number = int(place)
        return words[number - 1] if number <= len(words) else ""

    text = _PLACE.sub(put, prompt.text)
    return text if prompt.wants or not arguments else f"{text}\n\n{arguments}"


def _read(name: str, file: Path, *, of_project: bool) -> Prompt:
    front, text = split_front_matter(file, of_project=of_project)
    for key in front.values:
        if key != "description":
            raise ConfigError(f"{front.place(key)}: unknown key.", "A prompt has a description, and no more.")
    about = front.values.get("description", "")
    if not isinstance(about, str):
        raise ConfigError(f"{front.place('description')}: text is wanted.", 'Write description = "…".')
    if not text:
        raise ConfigError(f"{file} has no text.", "Write the prompt behind the front matter.")
    return Prompt(name, file, about, text, of_project)
