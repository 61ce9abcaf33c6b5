"""Manual pages, made from the command tree, so that they say what ``--help`` says.

Invariant: text that roff would read as a request or an escape comes out as itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from skippy_chat import __version__
from skippy_chat.cli.examples import EXAMPLES

_EXITS = (
    ("0", "Done."),
    ("1", "Failed."),
    ("2", "Wrong use."),
    ("3", "A fault of the model file, the native library or the worker process."),
    ("4", "The context is full."),
    ("130", "Interrupted."),
)
_VARIABLES = (
    (
        "SKIPPY_DATA_DIR, SKIPPY_CACHE_DIR, SKIPPY_CONFIG_DIR",
        "Where conversations, checkpoints and settings are.",
    ),
    ("SKIPPY_KEY", "Any setting of config.toml, for example SKIPPY_TEMPERATURE."),
    ("NO_COLOR, FORCE_COLOR, CLICOLOR, TERM", "Whether there is colour, as elsewhere."),
)


def manual_page(context: click.Context) -> str:
    """Return the page of a context's command as roff."""
    command = context.command
    path = context.command_path
    name = path.replace(" ", "-")
    told = _paragraphs(command.help or "")
    lines = [
        f'.TH "{_plain(name).upper()}" "1" "" "skippy-chat {__version__}" "skippy-chat manual"',
        ".SH NAME",
        f"{_plain(name)} \\- {_plain((command.get_short_help_str(200) or '').rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_plain(path)}",
        _plain(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    for number, paragraph in enumerate(told):
        lines += ([".PP"] if number else []) + paragraph
    if isinstance(command, click.Group):
        lines += [".SH COMMANDS", *_terms(_commands(command, context))]
    # Some releases of click list arguments, too, which the synopsis shows.
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    lines += [".SH OPTIONS", *_terms(filter(None, (each.get_help_record(context) for each in options)))]
    examples = EXAMPLES.get(path.partition(" ")[2], ())
    if examples:
        lines += [".SH EXAMPLES", ".EX"]
        lines += [_plain(f"{line}    # {what}" if what else line) for line, what in examples]
        lines += [".EE"]
    lines += [".SH EXIT STATUS", *_terms(_EXITS), ".SH ENVIRONMENT", *_terms(_VARIABLES)]
    if context.parent is not None:
        lines += [".SH SEE ALSO", f".BR {_plain(context.parent.command_path.replace(' ', '-'))} (1)"]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield name, command.get_short_help_str(200)


def _terms(rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = []
    for term, told in rows:
        lines += [".TP", f".B {_plain(term)}", _plain(" ".join(told.split())) or "\\&"]
    return lines


def _paragraphs(text: str) -> list[list[str]]:
    """Return paragraphs as roff lines; those that click leaves as they are stay so here."""
    found = []
    for block in "\n".join(
        line.strip() if line.strip() in ("", "\b") else line for line in text.split("\n")
    ).split("\n\n"):
        lines = block.split("\n")
        if lines[0] == "\b":
            found.append([".EX", *(_plain(line) for line in lines[1:]), ".EE"])
        elif joined := " ".join(block.split()):
            found.append([_plain(joined)])
    return found


def _plain(text: str) -> str:
    """Return text as roff reads itself: backslashes, dashes, and dots and quotes at a line's start escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")
    text = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in text)
    return f"\\&{text}" if text.startswith(".") else text
