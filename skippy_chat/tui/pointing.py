"""Which message a command means: the one that has the focus, the one of a number, or the last.

Numbers count the person's own messages of the branch from 1, as the line REPL's do.
"""

from __future__ import annotations

from skippy_chat.chat.messages import Message
from skippy_chat.tui.command import Parts
from skippy_chat.tui.message import MessageView
from skippy_chat.wording import plural

UNFINISHED = "It is still being written."


def pointed_view(parts: Parts) -> MessageView | None:
    """Return the message on the screen that has the focus, if one has."""
    focused = parts.app.focused
    return focused if isinstance(focused, MessageView) else None


def own_messages(parts: Parts) -> list[Message]:
    """Return the person's messages of the branch, oldest first."""
    return [each for each in parts.transcript.messages if each.role == "user"]


def own_message(parts: Parts, argument: str) -> Message | None:
    """Return the person's message that ``argument`` (a number, or nothing) means.

    Nothing means the one whose turn has the focus, or else the last. None when there is none; the status bar says so.
    """
    own = own_messages(parts)
    if argument:
        if not argument.isdecimal() or not 1 <= int(argument) <= len(own):
            parts.bar.change(hint=f"{argument} is none of your {plural(len(own), 'message')}.")
            return None
        return own[int(argument) - 1]
    view = pointed_view(parts)
    if view is not None:
        if view.message is None:
            parts.bar.change(hint=UNFINISHED)
            return None
        until = [each.id for each in parts.transcript.messages].index(view.message.id)
        asked = [each for each in parts.transcript.messages[: until + 1] if each.role == "user"]
        if asked:
            return asked[-1]
    if not own:
        parts.bar.change(hint="You have written no message yet.")
        return None
    return own[-1]


def stop_first(what: str) -> str:
    """Return what to say while a turn runs about something that has to wait for its end."""
    return f"Stop the answer first (Esc), then {what}."


def may_change(parts: Parts, what: str) -> bool:
    """Tell whether messages may be changed now; the status bar says why not. ``what`` completes "then …"."""
    if parts.composer.disabled:
        parts.bar.change(hint=f"Read-only: go on in a copy first (f), then {what}.")
    elif parts.turns.busy:
        parts.bar.change(hint=stop_first(what))
    elif not parts.turns.opened:
        parts.bar.change(hint="Not yet.")
    else:
        return True
    return False
