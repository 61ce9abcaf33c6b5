"""The slash commands, one file for each theme; help lists them in the order in which they stand here."""

from __future__ import annotations

import difflib

from skippy_chat.errors import UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.commands.model import MODEL
from skippy_chat.repl.commands.reading import READING
from skippy_chat.repl.commands.room import ROOM
from skippy_chat.repl.commands.sessions import SESSIONS
from skippy_chat.repl.commands.turns import TURNS
from skippy_chat.repl.face import Leave

__all__ = ["COMMANDS", "OTHER_NAMES", "Chat", "Command", "Reply", "find"]

OTHER_NAMES = {"exit": "quit"}
"""What other programs call a command; it does the same, and no list shows it."""

_WIDEST = 26
_KEYS_PLAIN = """\
Each line is a message; a backslash at its end joins the next line to it. @FILE puts a file in.
Ctrl-C stops an answer or a tool, and keeps what there is; twice, or Ctrl-D, leaves.
A call that needs approval is shown in full: type an answer and Enter. Ctrl-C there stops the turn."""
_KEYS = """\
Enter sends, Alt-Enter or Ctrl-J starts a new line, Tab completes commands and @files.
Up brings back earlier messages, Ctrl-R searches all that was typed, Ctrl-X Ctrl-E opens your editor.
Ctrl-C or Esc stops an answer or a tool, and keeps what there is; Ctrl-C twice, or Ctrl-D, leaves.
A call that needs approval is shown in full: type an answer and Enter. Esc there stops the turn."""


def find(word: str) -> Command:
    """Return the command of that name.

    Raises:
        UsageError: there is none; the closest is named.
    """
    word = OTHER_NAMES.get(word, word)
    if word in COMMANDS:
        return COMMANDS[word]
    close = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f"Did you mean /{close[0]}?" if close else "/help lists the commands."
    raise UsageError(
        f"There is no command /{word}.", f"{hint} Begin with // to send a text that starts with /."
    )


def _help(chat: Chat, _argument: str) -> Reply:
    told = [(command.usage, command.does) for command in COMMANDS.values()]
    told += [(f"/{each.name} {each.usage}".rstrip(), each.does) for each in chat.services.prompts(COMMANDS)]
    width = min(_WIDEST, max(len(usage) for usage, _ in told))
    lines = [f"{usage:<{width}}  {does}" for usage, does in told]
    chat.face.say("\n".join([*lines, _KEYS_PLAIN if chat.face.sentences else _KEYS]))
    return None


def _prompts(chat: Chat, _argument: str) -> Reply:
    chat.face.say(chat.services.prompts_told(COMMANDS))
    return None


def _quit(_chat: Chat, _argument: str) -> Reply:
    raise Leave


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("/help", "Show this list.", _help),
        *TURNS,
        *READING,
        *ROOM,
        *SESSIONS,
        *MODEL,
        Command("/prompts", "List your own prompts, and say where they lie.", _prompts),
        Command("/quit", "Leave; everything is kept.", _quit),
    )
}
