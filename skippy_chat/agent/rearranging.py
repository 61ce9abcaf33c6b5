"""What a branch looks like without some of it: a turn left out, or what tools gave.

Invariant: pure functions of a branch; nothing that is stored changes, and what comes before the first difference is the
very same messages, so that what was read of them stays read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from skippy_chat.chat.messages import Message

LEAST_CHARACTERS = 200
"""A shorter result stays: the note in its place is not much shorter."""


def spoken(branch: Sequence[Message]) -> list[Message]:
    """Return a branch without a last message that was refused, since it did not fit."""
    return list(branch[:-1] if branch and branch[-1].state == "failed" else branch)


def turn_starts(branch: Sequence[Message]) -> list[int]:
    """Return where the turns of a branch begin: at each message of the user."""
    return [number for number, each in enumerate(branch) if each.role == "user"]


def turn_of(branch: Sequence[Message], message: str) -> tuple[int, int] | None:
    """Return the turn ``[start, stop)`` that user message ``message`` (an id) begins; None if the branch has none."""
    starts = turn_starts(branch)
    start = next((number for number in starts if branch[number].id == message), None)
    if start is None:
        return None
    return start, next((number for number in starts if number > start), len(branch))


def without_results(branch: Sequence[Message]) -> list[Message]:
    """Return a branch with a note for each longer result of a tool but those of its newest turn."""
    newest = max(turn_starts(branch), default=0)
    return [_noted(each) if number < newest else each for number, each in enumerate(branch)]


def copied(branch: Sequence[Message], start: int) -> list[Message]:
    """Return a branch as it will be when its messages from ``start`` on are copies: nothing is recorded of those."""
    return [*branch[:start], *(dataclasses.replace(each, id="") for each in branch[start:])]


def first_difference(before: Sequence[Message], after: Sequence[Message]) -> int | None:
    """Return the first place where two branches of the same length differ; None if there is none."""
    pairs = enumerate(zip(before, after, strict=True))
    return next((number for number, (old, new) in pairs if old != new), None)


def _noted(message: Message) -> Message:
    if message.role != "tool" or len(message.content) <= LEAST_CHARACTERS:
        return message
    note = (
        f"[{len(message.content):,} characters were left out to make room. Call the tool again to see them.]"
    )
    return dataclasses.replace(message, content=note, edited=False)
