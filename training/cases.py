"""The test and development sets: prompts written by hand, what they should lead to, and the files they speak of.

They were written before there was anything to train, and nothing here reaches the training data: the generator has
wordings, names and files of its own, and a test compares the two.

A ``.cases`` file has one case after another::

    @ WORKSPACE [tools=+fetch_url]
    > what the person says; several lines are several turns, of which the last is judged
    = tool {"argument": "value"} | {"another": "that is as good"}
    ~ a fact of the answer | or this one        (@result: a number of the last result)
    + PATH text that the file must hold in the end

Where no tool is due the file has one prompt a line; ``[tool,tool]`` before it offers only those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")
CELLS = ("one_step", "two_steps", "follow_up", "no_tool_due", "no_tool_fits", "plain_chat")
SETS = ("test", "dev")
ANY = "@any"
RESULT = "@result"
_NO_CALL = ("no_tool_due", "no_tool_fits", "plain_chat")
_DEFAULT = (
    "calculator",
    "current_time",
    "edit_file",
    "list_directory",
    "read_file",
    "run_command",
    "search_files",
    "write_file",
)
_BETWEEN = re.compile(r"(?<=\}) \| (?=\{)")
_TOOLS = re.compile(r"^\[([a-z_,]+)\] ")


@dataclass(frozen=True, slots=True)
class Expected:
    """One call: the tool and the arguments that are right, each of the alternatives as good as the others."""

    tool: str
    alternatives: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt, or a conversation whose last turn is judged.

    ``facts`` are those of the answer, each a tuple of alternatives; ``files`` is what must stand in which file in the
    end. ``workspace`` is empty where no files matter.
    """

    name: str
    cell: str
    turns: tuple[str, ...]
    tools: tuple[str, ...]
    workspace: str = ""
    calls: tuple[Expected, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


class CaseError(ValueError):
    """A line of a case file that means nothing."""


def load_cases(which: str, cell: str, data: Path = DATA) -> list[Case]:
    """Return the cases of one cell of the ``test`` or ``dev`` set, in file order.

    Raises:
        CaseError: a line that means nothing, with its number.
    """
    path = data / which / f"{cell}.cases"
    lines = [
        (number, line)
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if line.strip() and not line.startswith("#")
    ]
    prefix = f"{which}/{cell}"
    if cell in _NO_CALL:
        return [_prompt(f"{prefix}/{number}", cell, line) for number, line in lines]
    return [_case(prefix, cell, block) for block in _blocks(lines, path)]


def load_workspaces(data: Path = DATA) -> dict[str, dict[str, str]]:
    """Return the workspaces by name: relative paths and the text of their files."""
    spaces: dict[str, dict[str, list[str]]] = {}
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (data / "workspaces.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("=== "):
            files = spaces[line[4:]] = {}
        elif line.startswith("--- "):
            lines = files[line[4:]] = []
        else:
            lines.append(line)
    return {
        name: {path: "\n".join(text).rstrip("\n") + "\n" for path, text in files.items()}
        for name, files in spaces.items()
    }


def known_names(data: Path = DATA) -> frozenset[str]:
    """Return every file's and folder's name in the workspaces, in lower case: the training data keeps clear of them."""
    parts = {
        part.lower() for files in load_workspaces(data).values() for path in files for part in path.split("/")
    }
    return frozenset(parts)


def _prompt(name: str, cell: str, line: str) -> Case:
    tools: tuple[str, ...] = () if cell == "plain_chat" else _DEFAULT
    if found := _TOOLS.match(line):
        tools, line = tuple(found[1].split(",")), line[found.end() :]
    return Case(name, cell, (line,), tools)


def _blocks(lines: list[tuple[int, str]], path: Path) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if line.startswith("@ ") and block:
            yield block
            block = []
        elif not block and not line.startswith("@ "):
            raise CaseError(f"{path}:{number}: a case begins with @ and its workspace")
        block.append((number, line))
    if block:
        yield block


def _case(prefix: str, cell: str, block: list[tuple[int, str]]) -> Case:
    first, head = block[0]
    workspace, *options = head[2:].split()
    tools = {*_DEFAULT, *(option.removeprefix("tools=+") for option in options)}
    turns: list[str] = []
    calls: list[Expected] = []
    facts: list[tuple[str, ...]] = []
    files: list[tuple[str, str]] = []
    for number, line in block[1:]:
        mark, rest = line[:2], line[2:]
        if mark == "> ":
            turns.append(rest)
        elif mark == "= ":
            tool, _, alternatives = rest.partition(" ")
            calls.append(Expected(tool, tuple(json.loads(each) for each in _BETWEEN.split(alternatives))))
        elif mark == "~ ":
            facts.append(tuple(_split(rest)))
        elif mark == "+ ":
            files.append(_file(rest, number, prefix))
        else:
            raise CaseError(f"{prefix}:{number}: {line!r} means nothing")
    if not turns or not calls:
        raise CaseError(f"{prefix}:{first}: a case needs a prompt and a call")
    return Case(
        f"{prefix}/{first}",
        cell,
        tuple(turns),
        tuple(sorted(tools)),
        workspace,
        tuple(calls),
        tuple(facts),
        tuple(files),
    )


def _file(text: str, number: int, prefix: str) -> tuple[str, str]:
    # A path may hold spaces; its last part ends in a suffix, or is all capitals.
    found = re.match(r"(.*?(?:\.[A-Za-z0-9]+|\b[A-Z]{4,})) (.+)$", text)
    if found is None:
        raise CaseError(f"{prefix}:{number}: a file needs a path and a text")
    return found[1], found[2]


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(" | ")]
