"""How a rule's pattern is compared with a call.

- A command pattern is words: ``git log *``. Each fits one word by itself, with ``*`` and ``?``; a last ``*`` fits all
  words that are left. Every simple command of a line is compared on its own.
- A path pattern is a path from the workspace root: ``src/**`` fits all below, ``docs/*.md`` the files of one folder. It
  is compared with where a path really leads.
- An address pattern is ``https://host/path``: scheme and host (and port) exactly, ``*`` in the path.

Allowing is read narrowly and forbidding widely: ``deny rm *`` also fits ``/bin/rm``; ``allow rm *`` does not.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Sequence

from skippy_chat.agent.approvals import git
from skippy_chat.agent.approvals.wrappers import program_name
from skippy_chat.agent.tools.addresses import read_url
from skippy_chat.errors import ToolError

# What git and this program act on later; a wildcard does not reach it.
GUARDED = (".git", ".skippy-chat", ".skippy-chat.toml")


def fits_command(pattern: str, argv: Sequence[str], *, widely: bool) -> bool:
    """Tell whether a pattern fits one simple command; ``widely`` for rules that ask or deny."""
    try:
        words = shlex.split(pattern)
    except ValueError:
        return widely  # a rule that cannot be read forbids rather than allows
    if not words:
        return True
    if _fits_words(words, argv):
        return widely or not _is_too_wide(words, argv)
    if not widely:
        return False
    name = program_name(argv[0]).lower()
    named = [program_name(words[0]).lower(), *words[1:]]
    found = git.bare(argv) if name == "git" else argv
    return _fits_words(named, [name, *argv[1:]]) or _fits_words(named, [name, *found[1:]])


def fits_path(pattern: str, path: str, *, widely: bool) -> bool:
    """Tell whether a pattern fits a path from the workspace root (``.`` is the root)."""
    if not pattern:
        return True
    if not widely and _guarded(path) and not any(each in pattern for each in _guarded(path)):
        return False
    if widely:
        # On a file system that takes two cases for one, forbidding one must forbid the other.
        pattern, path = pattern.lower(), path.lower()
    pattern = pattern.removeprefix("./").rstrip("/") or "."
    return path == pattern or re.fullmatch(_path_expression(pattern), path) is not None


def reaches_below(pattern: str, folder: str) -> bool:
    """Tell whether a path pattern may fit something below a folder (``.`` is the root)."""
    if not pattern or folder == ".":
        return True
    fixed = re.split(r"[*?]", pattern.lower().removeprefix("./"), maxsplit=1)[0]
    folder = f"{folder.lower()}/"
    return fixed.startswith(folder) or (fixed != pattern.lower() and folder.startswith(fixed))


def fits_address(pattern: str, url: str) -> bool:
    """Tell whether a pattern fits an address; both are read as addresses, never compared as text."""
    if not pattern:
        return True
    try:
        wanted, found = read_url(pattern), read_url(url)
    except ToolError:
        return False
    return (wanted.scheme, wanted.host, wanted.port) == (found.scheme, found.host, found.port) and (
        fnmatch.fnmatchcase(found.path, _only_stars(wanted.path))
    )


def exact_command(argv: Sequence[str]) -> str | None:
    """Return the pattern that fits these words only, None when there is none."""
    if any(character in word for word in argv for character in "*?["):
        return None
    return shlex.join(argv)


def exact_path(path: str) -> str | None:
    """Return the pattern that fits this path only, None when there is none."""
    return None if any(each in path for each in "*?[") else path


def _guarded(path: str) -> set[str]:
    return {each for each in path.lower().split("/") if each in GUARDED}


def _fits_words(words: Sequence[str], argv: Sequence[str]) -> bool:
    if words[-1] == "*" and len(words) > 1:
        words = words[:-1]
        if len(argv) < len(words):
            return False
        argv = argv[: len(words)]
    elif words == ["*"]:
        return True
    return len(words) == len(argv) and all(
        fnmatch.fnmatchcase(word, pattern) for word, pattern in zip(argv, words, strict=True)
    )


def _is_too_wide(words: Sequence[str], argv: Sequence[str]) -> bool:
    """Tell whether a pattern would let git's hooks run without naming the command that runs them."""
    if program_name(argv[0]) != "git":
        return False
    command = git.runs_hooks(argv)
    return bool(command) and command not in words


def _path_expression(pattern: str) -> str:
    if pattern == "**":
        return r"(?s:.*)"
    expression = ""
    for piece in re.split(r"(/\*\*/|\A\*\*/|/\*\*\Z|\*\*|\*|\?)", pattern):
        expression += {
            "/**/": "/(?:.*/)?",
            "**/": "(?:.*/)?",
            "/**": "(?:/.*)?",
            "**": ".*",
            "*": "[^/]*",
            "?": "[^/]",
        }.get(piece, re.escape(piece))
    return f"(?s:{expression})"


def _only_stars(pattern: str) -> str:
    return pattern.replace("[", "[[]").replace("?", "[?]")
