"""Commands that ask the model again: an edit, another answer, going on with a turn that was stopped."""

from __future__ import annotations

from skippy_chat.errors import UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.telling import number_of


def _edit(chat: Chat, argument: str) -> Reply:
    asked = chat.asked()
    if not asked:
        raise UsageError("There is no message to edit yet.", "Write one first.")
    old = asked[number_of(argument, len(asked), "message", default=len(asked)) - 1]
    text = chat.face.ask(prefill=old.content)
    if not text.strip() or text == old.content:
        chat.face.status("The message stays as it was.")
        return None
    return lambda: chat.conversation.edit(old.id, text)


def _regenerate(chat: Chat, _argument: str) -> Reply:
    if not chat.asked():
        raise UsageError("There is no answer to regenerate yet.", "Write a message first.")
    return chat.conversation.regenerate


def _continue(chat: Chat, _argument: str) -> Reply:
    return chat.conversation.go_on


TURNS = (
    Command("/edit [N]", "Edit your message N (the last) and answer it; the old branch stays.", _edit),
    Command("/regenerate", "Answer your last message again; the old answer stays.", _regenerate),
    Command("/continue", "Go on with a turn that was stopped, or ended at a limit.", _continue),
)
