"""Calls and their results: every call of a branch has one, or is given one.

A result is stored before its tool runs, in the words of ``CUT_OFF``, and replaced when it ended; so after a crash a
call that had begun says so, and one without any result never ran.

Invariant: what ``completed`` returns can be read by any template: after an answer with calls come their results and
nothing else, and no two messages of a user follow each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, ToolCall

NOT_RUN = "This call was interrupted before it ran."
CUT_OFF = "This call was interrupted while it ran; it may have had effects."


def unanswered(branch: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls at the end of a branch that have no result yet."""
    answered: set[str | None] = set()
    for message in reversed(branch):
        if message.role != "tool":
            return tuple(call for call in message.tool_calls if call.id not in answered)
        answered.add(message.tool_call_id)
    return ()


def repair(history: History, session: str) -> list[Message]:
    """Store a result for each call at the end of the session's branch that has none, and return them.

    Raises:
        HistoryError: the history cannot be read or written.
    """
    branch = history.branch(history.head(session))
    if not branch:
        return []
    stored: list[Message] = []
    parent = branch[-1]
    for call in unanswered(branch):
        parent = history.append(
            session,
            parent.id,
            "tool",
            NOT_RUN,
            tool_call_id=call.id,
            state="interrupted",
            status="error",
            turn=parent.turn,
        )
        stored.append(parent)
    return stored


def completed(branch: Iterable[Message]) -> list[Message]:
    """Return a branch as prompts carry it.

    Calls without a result are given one, a result without a call becomes the user's word, and where an answer is
    missing between two messages of a user, because it was stopped before its first word, an empty one stands.
    """
    done: list[Message] = []
    waiting: dict[str | None, ToolCall] = {}
    for message in branch:
        if message.role == "tool" and waiting.pop(message.tool_call_id, None) is not None:
            done.append(message)
            continue
        done += _not_run(message, waiting)
        waiting = {call.id: call for call in message.tool_calls}
        asks = message.role in ("user", "tool")
        if asks and done and done[-1].role in ("user", "tool"):
            done.append(Message("", message.session, None, "assistant", ""))
        done.append(dataclasses.replace(message, role="user", tool_call_id=None) if asks else message)
    if done:
        done += _not_run(done[-1], waiting)
    return done


def _not_run(near: Message, waiting: Mapping[str | None, ToolCall]) -> list[Message]:
    return [Message("", near.session, None, "tool", NOT_RUN, tool_call_id=each) for each in waiting]
