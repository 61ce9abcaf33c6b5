"""Another text for what the model said or a tool gave: the person's own version, stored beside the one there was.

Invariant: what is stored is never rewritten. The old branch stays whole, and the new one shares with it every message
before the one that differs, so that what was read of them stays read. Nobody sampled the new text: it has no ledger.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError
from skippy_chat.text.scalars import scalar_text


def amend(history: History, branch: Sequence[Message], message: str, text: str) -> None:
    """Store ``text`` as a version of an answer or a result (an id) in a branch, and end the current branch behind it.

    The calls of the same answer stay as they were made, and what they gave is copied behind: no call is without its
    result, and none is made again. What followed is left to the old branch.

    Raises:
        UsageError: it is no answer or result in this branch, or says this already.
    """
    at = next((number for number, each in enumerate(branch) if each.id == message), None)
    if at is None:
        raise UsageError(f"Message {message} is not in this branch.", "Go to its branch first.")
    old = branch[at]
    if old.role not in ("assistant", "tool"):
        raise UsageError(
            f"Message {message} is the {old.role}'s; only what the model said or a tool gave is amended.",
            "A user's message is edited, and answered anew.",
        )
    text = scalar_text(text)
    if text == old.content:
        raise UsageError("The new text is the old one.", "Nothing was stored.")
    results = itertools.takewhile(lambda each: each.role == "tool", branch[at + 1 :])
    history.copy_behind(old.session, old.parent, [_version(old, text), *results])


def _version(old: Message, text: str) -> Message:
    """Return a message with a person's text; whether the old one was cut off says nothing about it."""
    return dataclasses.replace(
        old, content=text, edited=True, state="complete", finish_reason=None, created=0
    )
