"""The slash commands. Each looks at the conversation, says something, and may hand back a turn to run.

Invariant: a command changes nothing before its argument has been understood.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skippy_chat.agent.protocol import Conversation
from skippy_chat.chat.messages import Message, Session
from skippy_chat.errors import UsageError
from skippy_chat.events import Event
from skippy_chat.repl.face import Face
from skippy_chat.text.sanitise import sanitise
from skippy_chat.wording import plural

_PREVIEW = 40
_ROLES = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}


class Leaving:
    """A command's reply that ends the chat."""


Reply: TypeAlias = "Callable[[], Iterator[Event]] | Leaving | None"


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: its usage, what it does, and the function that does it."""

    usage: str
    help: str
    run: Callable[[Conversation, Face, str], Reply]


def find(word: str) -> Command:
    """Return the command of that name.

    Raises:
        UsageError: there is none; the closest is named.
    """
    if word in COMMANDS:
        return COMMANDS[word]
    close = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f"Did you mean /{close[0]}?" if close else "/help lists the commands."
    raise UsageError(
        f"There is no command /{word}.", f"{hint} Begin with // to send a text that starts with /."
    )


def _help(_conversation: Conversation, face: Face, _argument: str) -> Reply:
    width = max(len(command.usage) for command in COMMANDS.values())
    lines = [f"{command.usage:<{width}}  {command.help}" for command in COMMANDS.values()]
    if face.sentences:
        keys = [
            "Each line is a message; a backslash at its end joins the next line to it.",
            "Ctrl-C stops an answer and keeps it; twice, or Ctrl-D, leaves.",
        ]
    else:
        keys = [
            "Enter sends, Alt-Enter or Ctrl-J starts a new line.",
            "Ctrl-C or Esc stops an answer and keeps it; Ctrl-C twice, or Ctrl-D, leaves.",
        ]
    face.say("\n".join([*lines, *keys]))
    return None


def _edit(conversation: Conversation, face: Face, argument: str) -> Reply:
    asked = _user_messages(conversation)
    if not asked:
        raise UsageError("There is no message to edit yet.", "Write one first.")
    old = asked[_number(argument, len(asked), "message", default=len(asked)) - 1]
    text = face.ask(prefill=old.content)
    if not text.strip() or text == old.content:
        face.status("The message stays as it was.")
        return None
    return lambda: conversation.edit(old.id, text)


def _regenerate(conversation: Conversation, _face: Face, _argument: str) -> Reply:
    if not _user_messages(conversation):
        raise UsageError("There is no answer to regenerate yet.", "Write a message first.")
    return conversation.regenerate


def _branch(conversation: Conversation, face: Face, argument: str) -> Reply:
    leaves = conversation.leaves()
    if not leaves:
        raise UsageError("There is no branch yet.", "Write a message first.")
    current = {message.id for message in conversation.messages()}
    if argument:
        leaf = leaves[_number(argument, len(leaves), "branch", default=1) - 1]
        conversation.switch(leaf.id)
        face.say(tail_text(conversation.messages()))
        return None
    lines = [
        f"{'*' if leaf.id in current else ' '} {number}  {_told(conversation.branch(leaf.id), current)}"
        for number, leaf in enumerate(leaves, 1)
    ]
    face.say("\n".join(lines))
    if len(leaves) > 1:
        face.status("/branch N switches to a branch; the star marks this one.")
    return None


def _history(conversation: Conversation, face: Face, _argument: str) -> Reply:
    messages = conversation.messages()
    if messages:
        face.say(history_text(messages))
    else:
        face.status("Nothing has been said yet.")
    return None


def _session(conversation: Conversation, face: Face, _argument: str) -> Reply:
    facts = session_text(conversation.session, len(conversation.messages()))
    face.say(f"{facts}\nBranches: {len(conversation.leaves())}")
    return None


def _model(conversation: Conversation, face: Face, _argument: str) -> Reply:
    model = conversation.model
    lines = [
        f"Model: {model.name}",
        f"Kind: {model.kind}, architecture {model.architecture}",
        f"Context: {plural(model.context_size, 'token')}",
        f"SHA-256: {model.sha256}",
    ]
    face.say("\n".join(lines))
    return None


def _quit(_conversation: Conversation, _face: Face, _argument: str) -> Reply:
    return Leaving()


COMMANDS: dict[str, Command] = {
    "help": Command("/help", "Show this list.", _help),
    "edit": Command(
        "/edit [N]", "Edit your message N (the last) and answer it; the old branch stays.", _edit
    ),
    "regenerate": Command(
        "/regenerate", "Answer your last message again; the old answer stays.", _regenerate
    ),
    "branch": Command("/branch [N]", "List the branches, or switch to one.", _branch),
    "history": Command("/history", "Show this branch, your messages numbered.", _history),
    "session": Command("/session", "Show the session's name, id and size.", _session),
    "model": Command("/model", "Show the loaded model.", _model),
    "quit": Command("/quit", "Leave; everything is kept.", _quit),
}


def _user_messages(conversation: Conversation) -> list[Message]:
    return [message for message in conversation.messages() if message.role == "user"]


def _number(argument: str, count: int, noun: str, *, default: int) -> int:
    if not argument:
        return default
    if argument.isascii() and argument.isdigit() and 1 <= int(argument[:9]) <= count:
        return int(argument[:9])
    raise UsageError(f"There is no {noun} {argument}.", f"Give a number from 1 to {count}.")


def history_text(messages: Sequence[Message]) -> str:
    """Return a branch in full, the person's messages numbered, with what has no ordinary end marked."""
    lines, number = [], 0
    for message in messages:
        number += message.role == "user"
        place = f" {number}" if message.role == "user" else ""
        mark = "" if message.state == "complete" else f" [{message.state}]"
        lines.append(f"{_ROLES[message.role]}{place}{mark}: {message.content}")
    return "\n\n".join(lines)


def session_text(session: Session, messages: int) -> str:
    """Return a session's facts, a line each."""
    lines = [
        f"Session: {session.name}",
        f"Id: {session.id}",
        f"Folder: {session.folder}",
        f"This branch: {plural(messages, 'message')}",
    ]
    return "\n".join(lines)


def tail_text(messages: Sequence[Message]) -> str:
    """Return the last question and answer."""
    return "\n".join(f"{_ROLES[message.role]}: {message.content}" for message in messages[-2:])


def _told(branch: Sequence[Message], current: set[str]) -> str:
    """Return a branch on one line: the question at which it leaves the current one, or else its last; and its end."""
    leaf = branch[-1]
    asked = [message for message in branch if message.role == "user"]
    own = [message for message in asked if message.id not in current]
    question = own[0] if own else asked[-1] if asked else leaf
    shown = [question] if question is leaf else [question, leaf]
    return " → ".join(f"{_ROLES[message.role]}: {_preview(message)}" for message in shown)


def _preview(message: Message) -> str:
    text = " ".join(sanitise(message.content[: 4 * _PREVIEW]).split())
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1]}…"
