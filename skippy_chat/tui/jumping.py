"""From message to message: to the person's own above and below, to the first and the last, to one by its number.

Invariant: whatever is jumped to is mounted, shown and has the focus, so that the keys of messages act on it.
"""

from __future__ import annotations

from skippy_chat.chat.messages import Message
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.pointing import own_messages, pointed_view
from skippy_chat.wording import plural


def go_to(parts: Parts, message: Message) -> None:
    """Show a message of the branch, and give it the focus."""
    view = parts.transcript.go_to(message.id)
    if view is None:
        return
    view.focus(scroll_visible=False)
    parts.transcript.reveal(view)


def _go_to_own(parts: Parts, message: Message, own: list[Message]) -> None:
    go_to(parts, message)
    parts.bar.change(hint=f"Your message {own.index(message) + 1} of {len(own)}.")


def _goto(parts: Parts, argument: str) -> bool:
    own = own_messages(parts)
    if not own:
        parts.bar.change(hint="You have written no message yet.")
        return False
    if argument in ("", "first"):
        go_to(parts, parts.transcript.messages[0])
    elif argument == "last":
        go_to(parts, parts.transcript.messages[-1])
    elif argument.isdecimal() and 1 <= int(argument) <= len(own):
        _go_to_own(parts, own[int(argument) - 1], own)
    else:
        parts.bar.change(hint=f"Give a number up to {len(own)}, first or last: /goto N")
        return False
    return True


def _above(parts: Parts, _argument: str) -> None:
    own = own_messages(parts)
    at = _standing_at(parts)
    above = [each for each in own if _number(parts, each) < at]
    if above:
        _go_to_own(parts, above[-1], own)
    else:
        parts.bar.change(hint="No message of yours is above." if own else "You have written no message yet.")


def _below(parts: Parts, _argument: str) -> None:
    own = own_messages(parts)
    at = _standing_at(parts)
    below = [each for each in own if _number(parts, each) > at]
    if below:
        _go_to_own(parts, below[0], own)
        return
    parts.transcript.follow()
    parts.composer.focus()
    parts.bar.change(hint=f"This is the end, below your {plural(len(own), 'message')}.")


def _standing_at(parts: Parts) -> int:
    """Return the place in the branch of the message with the focus, or else of the first one in sight."""
    view = pointed_view(parts)
    if view is None and parts.transcript.following:
        return len(parts.transcript.messages)
    view = view or parts.transcript.in_sight
    if view is None or view.message is None:
        return len(parts.transcript.messages)
    return _number(parts, view.message)


def _number(parts: Parts, message: Message) -> int:
    ids = [each.id for each in parts.transcript.messages]
    return ids.index(message.id) if message.id in ids else len(ids)


JUMPING = Feature(
    (
        AppCommand("goto", "go to your message N, the first (or nothing), or the last", _goto, usage="[N]"),
        AppCommand("above", "go to your message above", _above, key="alt+up"),
        AppCommand("below", "go to your message below, or to the end", _below, key="alt+down"),
    )
)
