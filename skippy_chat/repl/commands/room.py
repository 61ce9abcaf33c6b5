"""Commands for a context that gets full: what fills it, and what can be left out, summed up, or made larger."""

from __future__ import annotations

from skippy_chat.errors import UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.commands.reopening import reopened
from skippy_chat.repl.room_telling import choices, dropped_text, room_sentences
from skippy_chat.room_wording import SMALLEST, context_meant, room_text
from skippy_chat.wording import plural


def _room(chat: Chat, _argument: str) -> Reply:
    room = chat.conversation.room()
    told = room_sentences(room) if chat.face.sentences else room_text(room)
    chat.face.say("\n".join([told, *(choices(room, chat.conversation.model) if room.over else ())]))
    return None


def _compact(chat: Chat, _argument: str) -> Reply:
    if not chat.asked():
        raise UsageError("There is nothing to sum up yet.", "Write a message first.")
    chat.face.status("A summary is written, to go on with in a new branch; Ctrl-C keeps this one.")
    return chat.conversation.compact


def _drop(chat: Chat, _argument: str) -> Reply:
    chat.face.status(dropped_text(chat.conversation.drop_results()))
    return None


def _context(chat: Chat, argument: str) -> Reply:
    model = chat.conversation.model
    most = model.trained_context
    if not argument:
        trained = f", of {plural(most, 'token')} that the model was trained for" if most else ""
        chat.face.say(f"The context holds {plural(model.context_size, 'token')}{trained}.")
        return None
    size = context_meant(argument, model)
    if size is None:
        raise UsageError(
            f"The context cannot have {argument} tokens.",
            f"Give a number from {SMALLEST}{f' to {most:,}' if most else ''}.",
        )
    return reopened(chat, {"ctx": size})


ROOM = (
    Command("/room", "Show what fills the context.", _room),
    Command("/compact", "Go on with a summary in a new branch; the old one stays.", _compact),
    Command("/drop", "Leave out what tools gave in older turns, in a new branch.", _drop),
    Command("/context [N]", "Show the context's size, or open this session anew with N tokens.", _context),
)
