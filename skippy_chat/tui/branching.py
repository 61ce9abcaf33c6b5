"""Other branches by command: an answer drawn anew, a turn left out, a message edited; and the way back.

Invariant: nothing is lost. What was the branch before stays, and ``/back`` shows it again.
"""

from __future__ import annotations

from skippy_chat.agent.protocol import Conversation, TurnOptions
from skippy_chat.errors import UsageError
from skippy_chat.sampling_words import SAMPLING_USAGE, read_sampling, sampling_with
from skippy_chat.tui.amending import amendable
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.pointing import may_change, own_message, own_messages, pointed_view


def _regenerate(parts: Parts, argument: str) -> bool:
    if parts.editing.message is not None or not may_change(parts, "answer again"):
        return False
    if not own_messages(parts):
        parts.bar.change(hint="You have written no message yet.")
        return False
    try:
        changes = read_sampling(argument)
    except UsageError as error:
        parts.bar.change(hint=str(error))
        return False
    parts.transcript.cut(None)
    if not changes:
        parts.turns.begin(lambda conversation: conversation.regenerate())
        return True
    parts.turns.begin(
        lambda conversation: conversation.regenerate(
            TurnOptions(sampling=sampling_with(conversation.sampling(), changes))
        )
    )
    told = " ".join(
        f"{name}={value:g}" if name != "seed" else f"seed={value}" for name, value in changes.items()
    )
    parts.bar.change(hint=f"This answer alone with {told}.")
    return True


def _edit(parts: Parts, argument: str) -> bool:
    view = pointed_view(parts)
    if not argument and view is not None and view.role != "user":
        message = amendable(parts, view)
    else:
        message = own_message(parts, argument) if may_change(parts, "edit") else None
    if message is None:
        return False
    parts.editing.begin(message)
    return True


def _remove(parts: Parts, argument: str) -> bool:
    if not may_change(parts, "remove"):
        return False
    message = own_message(parts, argument)
    if message is None:
        return False
    parts.editing.end()
    number = own_messages(parts).index(message) + 1
    parts.composer.focus()

    def remove(conversation: Conversation) -> str:
        conversation.remove(message.id)
        return f"Left out your message {number} and its answer. The old branch stays: /back shows it."

    parts.turns.do(remove)
    return True


def _back(parts: Parts, _argument: str) -> bool:
    if not may_change(parts, "go back"):
        return False
    leaf = parts.transcript.take_before()
    if leaf is None:
        parts.bar.change(hint="No other branch was shown before this one; ◂ ▸ under a message marks others.")
        return False

    def back(conversation: Conversation) -> str:
        conversation.switch(leaf)
        return "This is the branch that was shown before."

    parts.turns.do(back)
    return True


BRANCHING = Feature(
    (
        AppCommand(
            "regenerate",
            "answer your last message again; with numbers, drawn so this once",
            _regenerate,
            usage=SAMPLING_USAGE,
            key="ctrl+r",
        ),
        AppCommand(
            "edit", "edit your message N (the last) in the box; the old branch stays", _edit, usage="[N]"
        ),
        AppCommand("remove", "leave out your message N (the last) and its answer", _remove, usage="[N]"),
        AppCommand("back", "show the branch that was shown before this one", _back),
    ),
)
