"""Commands that look at what was said: the branch, its branches, results of tools."""

from __future__ import annotations

from skippy_chat.errors import UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.telling import branch_line, history_text, number_of, result_text, tail_text


def _history(chat: Chat, _argument: str) -> Reply:
    messages = chat.conversation.messages()
    if messages:
        chat.face.say(history_text(messages))
    else:
        chat.face.status("Nothing has been said yet.")
    return None


def _result(chat: Chat, argument: str) -> Reply:
    chat.face.say(result_text(chat.conversation.messages(), argument))
    return None


def _branch(chat: Chat, argument: str) -> Reply:
    conversation, face = chat.conversation, chat.face
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


READING = (
    Command("/branch [N]", "List the branches, or switch to one.", _branch),
    Command("/history", "Show this branch, your messages numbered.", _history),
    Command("/result [N]", "Show all of a tool's result N (the last).", _result),
)
