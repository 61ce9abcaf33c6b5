"""Copy messages to another place in their session's tree: how a branch goes on without what is left out of it.

Invariant: within the caller's transaction, so that a new branch is there whole or not at all. A copy has no ledger:
what was fed for its original stood behind other tokens.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Sequence

from skippy_chat.chat import message_rows
from skippy_chat.chat.messages import Message


def copy_behind(
    connection: sqlite3.Connection,
    session: str,
    parent: str | None,
    messages: Sequence[Message],
    new_id: Callable[[], str],
    now: int,
) -> str | None:
    """Store messages as a chain behind ``parent``, under new ids; return the last one's, or ``parent``.

    Everything else about them stays; one without a time of its own is of ``now`` (milliseconds since the epoch).
    """
    for message in messages:
        copy = dataclasses.replace(
            message, id=new_id(), session=session, parent=parent, created=message.created or now
        )
        message_rows.insert(connection, copy)
        parent = copy.id
    return parent
