"""Reading a command line as ``sh`` would, where that needs no shell; everything else is refused, and so asked about.

Understood are plain words, quotes, and simple commands joined by ``;``, ``&&``, ``||`` and ``|``. Expansions,
substitutions, redirections, globs, comments, newlines, background jobs, reserved words and the like are not.

Invariant: what is returned is, word for word, what the shell runs (a test compares with a real one).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_RESERVED = frozenset(
    ["!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
     "select", "then", "time", "until", "while", "{", "}"]
)  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
_BLANKS = " \t"
# Each means something to some shell outside quotes, wherever it stands.
_MEANINGFUL = {
    "$": "an expansion",
    "`": "a command substitution",
    "<": "a redirection",
    ">": "a redirection",
    "(": "a subshell",
    ")": "a subshell",
    "{": "a brace expansion",
    "}": "a brace expansion",
    "*": "a glob",
    "?": "a glob",
    "[": "a glob",
    "~": "a home folder",
    "\n": "a newline",
    "\r": "a carriage return",
    "!": "a history expansion or negation",
}


class NotPlain(ValueError):
    """A command line that only a shell can read; the message says what is in it."""


@dataclass(slots=True)
class _Word:
    """A word so far; ``quoted`` when any of it was, ``begun`` also when it is empty."""

    text: str = ""
    quoted: bool = False
    begun: bool = False


def simple_commands(line: str) -> list[list[str]]:
    """Return the words of every simple command, in order.

    Raises:
        NotPlain: anything that is more than words.
    """
    commands: list[list[str]] = []
    words: list[_Word] = []
    word = _Word()
    at = 0
    joined = False  # a command must follow
    while at < len(line):
        character = line[at]
        if character in _BLANKS:
            word = _end(word, words)
            at += 1
        elif character in ";&|":
            word = _end(word, words)
            commands.append(_command(words))
            words = []
            at, joined = _joint(line, at)
        elif character == "#" and not word.begun:
            raise NotPlain("a comment")
        elif character in _MEANINGFUL:
            raise NotPlain(_MEANINGFUL[character])
        elif not character.isprintable():
            raise NotPlain("a character that cannot be seen")
        else:
            at = _take(line, at, word)
    _end(word, words)
    if words or joined or not commands:
        commands.append(_command(words))
    return commands


def _end(word: _Word, words: list[_Word]) -> _Word:
    if word.begun:
        words.append(word)
        return _Word()
    return word


def _joint(line: str, at: int) -> tuple[int, bool]:
    """Return where the next command begins, and whether there must be one."""
    for joint in ("&&", "||"):
        if line.startswith(joint, at):
            return at + 2, True
    if line[at] == "&":
        raise NotPlain("a background job")
    if line.startswith((";;", ";&", "|&"), at):
        raise NotPlain(f"{line[at : at + 2]!r}")
    return at + 1, line[at] == "|"


def _command(words: list[_Word]) -> list[str]:
    if not words:
        raise NotPlain("an empty command")
    first = words[0]
    if not first.quoted and first.text in _RESERVED:
        raise NotPlain(f"the shell's own word {first.text!r}")
    if _ASSIGNMENT.match(first.text):
        raise NotPlain("an assignment")
    return [each.text for each in words]


def _take(line: str, at: int, word: _Word) -> int:
    """Take one character, or one quoted piece; return where the next begins."""
    character = line[at]
    word.begun = True
    if character == "'":
        end = line.find("'", at + 1)
        if end < 0:
            raise NotPlain("a quote that is not closed")
        word.text += _seen(line[at + 1 : end])
        word.quoted = True
        return end + 1
    if character == '"':
        word.quoted = True
        return _double(line, at + 1, word)
    if character == "\\":
        if at + 1 == len(line) or line[at + 1] in "\r\n":
            raise NotPlain("a line that goes on")
        word.text += _seen(line[at + 1])
        word.quoted = True
        return at + 2
    word.text += character
    return at + 1


def _double(line: str, at: int, word: _Word) -> int:
    while at < len(line):
        character = line[at]
        if character == '"':
            return at + 1
        if character in "$`":
            raise NotPlain(_MEANINGFUL[character])
        if character == "\\" and line[at + 1 : at + 2] in ("$", "`", '"', "\\"):
            at += 1
            character = line[at]
        elif line.startswith("\\\n", at):
            raise NotPlain("a line that goes on")
        word.text += _seen(character)
        at += 1
    raise NotPlain("a quote that is not closed")


def _seen(text: str) -> str:
    """Let quoted text pass, newlines and tabs too; half characters and NUL no shell can take."""
    if "\0" in text or any("\ud800" <= each <= "\udfff" for each in text):
        raise NotPlain("a character that no command line can have")
    return text
