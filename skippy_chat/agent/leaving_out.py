"""Leaving a turn, or what tools gave, out of the current branch: a new branch is stored, and becomes the current one.

Invariant: the old branch stays as it was, and the new one shares with it every message before the first that differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.agent.measuring import Measuring
from skippy_chat.agent.rearranging import copied, first_difference, spoken, turn_of, without_results
from skippy_chat.agent.room import Dropped
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError


def remove_turn(history: History, branch: Sequence[Message], message: str) -> None:
    """Leave out the turn that user message ``message`` (an id) begins in a branch.

    Raises:
        UsageError: it is not a user's in this branch.
    """
    turn = turn_of(branch, message)
    if turn is None:
        raise UsageError(f"Message {message} is not a user's in this branch.", "Try /history.")
    start, stop = turn
    history.copy_behind(branch[start].session, branch[start].parent, branch[stop:])


def drop_results(history: History, branch: Sequence[Message], measuring: Measuring) -> Dropped:
    """Have a note stand for each longer result of a tool in a branch, but in its newest turn.

    A last message that was refused is not part of the new branch.

    Raises:
        UsageError: there is none.
        SkippyError: as the worker said.
    """
    before = spoken(branch)
    after = without_results(before)
    first = first_difference(before, after)
    if first is None:
        raise UsageError(
            "There is no tool output to leave out.",
            "What tools gave in the newest turn, and short results, stay.",
        )
    tokens = measuring.prompted(before).tokens - measuring.prompted(copied(after, first)).tokens
    results = sum(old != new for old, new in zip(before, after, strict=True))
    history.copy_behind(before[first].session, before[first].parent, after[first:])
    return Dropped(results, tokens)
