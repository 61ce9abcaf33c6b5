"""Commands about the session: its facts, its name, a copy of it, a file of it."""

from __future__ import annotations

from skippy_chat.agent.protocol import Fork
from skippy_chat.chat.export import FORMATS
from skippy_chat.errors import UsageError
from skippy_chat.exporting import USAGE, export_here
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.telling import session_text


def _session(chat: Chat, _argument: str) -> Reply:
    conversation = chat.conversation
    facts = session_text(conversation.session, len(conversation.messages()))
    chat.face.say(f"{facts}\nBranches: {len(conversation.leaves())}")
    return None


def _rename(chat: Chat, argument: str) -> Reply:
    if not argument:
        raise UsageError("A session's name is missing.", "Give one: /rename TITLE")
    chat.face.status(f"This session is {chat.conversation.rename(argument).name} now.")
    return None


def _fork(chat: Chat, argument: str) -> Reply:
    messages = chat.conversation.messages()
    if not messages:
        raise UsageError("There is nothing to copy yet.", "Write a message first.")
    return GoOn(fork=Fork(chat.conversation.session.id, messages[-1].id, argument))


def _export(chat: Chat, argument: str) -> Reply:
    chat.face.say(export_here(chat.conversation, argument, chat.services.folder))
    return None


SESSIONS = (
    Command("/session", "Show the session's name, id and size.", _session),
    Command("/rename TITLE", "Give the session another name.", _rename),
    Command("/fork [NAME]", "Go on in a copy of this branch; the session stays as it is.", _fork),
    Command(USAGE, "Write the conversation to a file of this folder.", _export, FORMATS),
)
