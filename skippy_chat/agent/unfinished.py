"""Where a turn that ended in the middle goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skippy_chat.agent.tools.journal import Journal
from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """The end of a turn that began with ``asked``: the next answer follows message ``at`` (an id).

    ``turn`` is the id of the turn that goes on; empty where a new one begins, as when that was undone or amended.
    """

    asked: Message
    at: str
    turn: str


def unfinished(branch: Sequence[Message], journal: Journal | None) -> OpenEnd:
    """Return where the last turn of a branch goes on: after its results, or with an answer beside a broken one.

    Raises:
        UsageError: it came to its end, or there is none.
    """
    asked = last_asked(branch)
    if asked is None:
        raise UsageError("There is nothing to go on with.", "Say something first.")
    last = branch[-1]
    if last.id == asked.id:
        return OpenEnd(asked, asked.id, "")
    if last.role == "assistant" and last.state == "complete" and last.finish_reason in (None, "stop"):
        raise UsageError("The last turn came to its end; there is nothing to go on with.", "Say more.")
    at = last.parent if last.role == "assistant" else last.id
    assert at is not None, "an answer follows a message"
    turn = next((each.turn for each in reversed(branch) if each.turn or each.id == asked.id), "")
    undone = bool(turn) and journal is not None and journal.is_undone(turn)
    # What a turn wrote elsewhere is not to be put back with what is written from here on.
    amended = any(each.edited and each.turn == turn for each in branch)
    return OpenEnd(asked, at, "" if undone or amended else turn)


def last_asked(branch: Sequence[Message]) -> Message | None:
    """Return the last message of the user in a branch."""
    return next((each for each in reversed(branch) if each.role == "user"), None)
