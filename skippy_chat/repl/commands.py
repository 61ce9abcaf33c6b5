"""The slash commands. Each looks at the conversation, says something, and may hand back a turn to run.

Invariant: a command changes nothing before its argument has been understood.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from skippy_chat.agent.protocol import Conversation
from skippy_chat.cache_wording import summary_lines, tree_lines, tree_sentences
from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError
from skippy_chat.events import Event
from skippy_chat.exporting import USAGE
from skippy_chat.repl.face import Face
from skippy_chat.repl.quoting import complete
from skippy_chat.repl.telling import (
    branch_line,
    history_text,
    number_of,
    result_text,
    session_text,
    tail_text,
)
from skippy_chat.tool_wording import tools_text, undone_text
from skippy_chat.wording import plural


class Leaving:
    """A command's reply that ends the chat."""


@dataclass(frozen=True, slots=True)
class Exporting:
    """A command's reply that writes the conversation to a file, as ``argument`` says."""

    argument: str


Reply: TypeAlias = "Callable[[], Iterator[Event]] | Exporting | Leaving | None"


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
            "Ctrl-C stops an answer or a tool, and keeps what there is; twice, or Ctrl-D, leaves.",
            "A call that needs approval is shown in full: type an answer and Enter. Ctrl-C there stops the turn.",
        ]
    else:
        keys = [
            "Enter sends, Alt-Enter or Ctrl-J starts a new line.",
            "Ctrl-C or Esc stops an answer or a tool, and keeps what there is; Ctrl-C twice, or Ctrl-D, leaves.",
            "A call that needs approval is shown in full: type an answer and Enter. Esc there stops the turn.",
        ]
    face.say("\n".join([*lines, *keys]))
    return None


def _edit(conversation: Conversation, face: Face, argument: str) -> Reply:
    asked = _user_messages(conversation)
    if not asked:
        raise UsageError("There is no message to edit yet.", "Write one first.")
    old = asked[number_of(argument, len(asked), "message", default=len(asked)) - 1]
    text = face.ask(prefill=old.content)
    if not text.strip() or text == old.content:
        face.status("The message stays as it was.")
        return None
    return lambda: conversation.edit(old.id, text)


def _regenerate(conversation: Conversation, _face: Face, _argument: str) -> Reply:
    if not _user_messages(conversation):
        raise UsageError("There is no answer to regenerate yet.", "Write a message first.")
    return conversation.regenerate


def _continue(conversation: Conversation, _face: Face, _argument: str) -> Reply:
    return conversation.go_on


def _undo(conversation: Conversation, face: Face, _argument: str) -> Reply:
    face.say(complete(undone_text(conversation.undo())))
    return None


def _tools(conversation: Conversation, face: Face, _argument: str) -> Reply:
    face.say(complete(tools_text(conversation.tools)))
    return None


def _result(conversation: Conversation, face: Face, argument: str) -> Reply:
    face.say(result_text(conversation.messages(), argument))
    return None


def _branch(conversation: Conversation, face: Face, argument: str) -> Reply:
    leaves = conversation.leaves()
    if not leaves:
        raise UsageError("There is no branch yet.", "Write a message first.")
    current = {message.id for message in conversation.messages()}
    if argument:
        leaf = leaves[number_of(argument, len(leaves), "branch", default=1) - 1]
        conversation.switch(leaf.id)
        face.say(tail_text(conversation.messages()))
        return None
    lines = [
        f"{'*' if leaf.id in current else ' '} {number}  {branch_line(conversation.branch(leaf.id), current)}"
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


def _rename(conversation: Conversation, face: Face, argument: str) -> Reply:
    if not argument:
        raise UsageError("A session's name is missing.", "Give one: /rename TITLE")
    face.status(f"This session is {conversation.rename(argument).name} now.")
    return None


def _export(_conversation: Conversation, _face: Face, argument: str) -> Reply:
    return Exporting(argument)


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


def _cache(conversation: Conversation, face: Face, _argument: str) -> Reply:
    kept = conversation.checkpoints()
    drawn = tree_sentences(kept) if face.sentences else tree_lines(kept)
    face.say("\n".join([*drawn, *summary_lines(kept)]))
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
    "continue": Command("/continue", "Go on with a turn that was stopped, or ended at a limit.", _continue),
    "branch": Command("/branch [N]", "List the branches, or switch to one.", _branch),
    "history": Command("/history", "Show this branch, your messages numbered.", _history),
    "tools": Command("/tools", "List the tools, and which calls ask first.", _tools),
    "result": Command("/result [N]", "Show all of a tool's result N (the last).", _result),
    "undo": Command("/undo", "Put back the files that the last turn wrote.", _undo),
    "session": Command("/session", "Show the session's name, id and size.", _session),
    "cache": Command("/cache", "Show what is kept of this session, and what an edit would cost.", _cache),
    "rename": Command("/rename TITLE", "Give the session another name.", _rename),
    "export": Command(USAGE, "Write the conversation to a file of this folder.", _export),
    "model": Command("/model", "Show the loaded model.", _model),
    "quit": Command("/quit", "Leave; everything is kept.", _quit),
}


def _user_messages(conversation: Conversation) -> list[Message]:
    return [message for message in conversation.messages() if message.role == "user"]
