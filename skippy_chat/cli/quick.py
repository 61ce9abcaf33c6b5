"""Tab, answered from a table of the command line's own words, where these are what is wanted.

A person waits for every Tab, and click alone takes several times as long as Python itself. ``words.json`` is made from
click's command tree (``python -m scripts.reference``).

Invariant: an answer is the one click would give; wherever that is not certain there is none, and click is asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

_Options = Sequence[Any]
_Command = Mapping[str, Any]
_TABLE = os.path.join(os.path.dirname(__file__), "words.json")  # noqa: PTH118, PTH120 - pathlib takes its time


def answer(instruction: str, env: Mapping[str, str]) -> str | None:
    """Return what a shell is to be told; None when click has to be asked."""
    shell, _, what = instruction.partition("_")
    asked = _asked(shell, env) if what == "complete" else None
    if asked is None:
        return None
    words, typed = asked
    with open(_TABLE, encoding="utf-8") as file:  # noqa: PTH123
        table = json.load(file)
    items = _items(table["options"], table["command"], words, typed)
    return None if items is None else "\n".join(_line(shell, value, told) for value, told in items)


def _asked(shell: str, env: Mapping[str, str]) -> tuple[list[str], str] | None:
    """Return the words before the one that is typed, and that; None where a shell's quoting plays a part."""
    line, at = env.get("COMP_WORDS", ""), env.get("COMP_CWORD", "")
    if any(each in line + at for each in "'\"\\#"):
        return None
    words = line.split()
    if shell in ("bash", "zsh"):
        if not at.isdigit():
            return None
        number = int(at)
        return words[1:number], words[number] if number < len(words) else ""
    if shell != "fish":
        return None
    before = words[1:]
    if at and before and before[-1] == at:
        before.pop()
    return before, at


def _items(
    options: _Options, command: _Command, words: Sequence[str], typed: str
) -> list[tuple[str, str]] | None:
    walked = _walk(options, command, words)
    if walked is None:
        return None
    command, given, waiting = walked
    if waiting is not None:
        choices = options[waiting]["choices"]
        if choices is None or typed.startswith("-"):
            return None
        return [(each, "") for each in choices if each.startswith(typed)]
    if typed.startswith("-"):
        return None if "=" in typed else _open_options(options, command, given, typed)
    if not command["commands"] or (typed and not typed[0].isalnum()):
        return None
    return [(name, below["help"]) for name, below in command["commands"].items() if name.startswith(typed)]


def _walk(
    options: _Options, command: _Command, words: Sequence[str]
) -> tuple[_Command, set[int], int | None] | None:
    """Return the command that the words lead to, the options it was given, and the one that waits for its value."""
    known = _known(options, command)
    given: set[int] = set()
    waiting = None
    for word in words:
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            name, equals, _ = word.partition("=")
            if name not in known or (equals and not name.startswith("--")):
                return None
            given.add(known[name])
            waiting = known[name] if options[known[name]]["value"] and not equals else None
        elif word in command["commands"]:
            command = command["commands"][word]
            known, given = _known(options, command), set()
        else:
            return None
    return command, given, waiting


def _open_options(options: _Options, command: _Command, given: set[int], typed: str) -> list[tuple[str, str]]:
    found = [options[each] for each in command["options"] if options[each]["many"] or each not in given]
    return [(name, each["help"]) for each in found for name in each["names"] if name.startswith(typed)]


def _known(options: _Options, command: _Command) -> dict[str, int]:
    return {name: each for each in command["options"] for name in options[each]["names"]}


def _line(shell: str, value: str, told: str) -> str:
    if shell == "bash":
        return f"plain,{value}"
    if shell == "zsh":
        return f"plain\n{value}\n{told or '_'}"
    return f"plain,{value}\t{told}" if told else f"plain,{value}"
