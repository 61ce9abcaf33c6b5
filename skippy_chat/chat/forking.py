"""Copy a branch into a session of its own, ledgers included, so that the next prompt finds the same checkpoints.

Invariant: within the caller's transaction, so a fork is the whole branch as it stood at one moment, or nothing.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Sequence

from skippy_chat.chat import ledger_rows, message_rows
from skippy_chat.chat.messages import Message


def copy_branch(
    connection: sqlite3.Connection, branch: Sequence[Message], session: str, new_id: Callable[[], str]
) -> str | None:
    """Copy messages, root first, under new ids into the empty session ``session``; return the last one's id."""
    parent: str | None = None
    answer: str | None = None
    for message in branch:
        copy = dataclasses.replace(message, id=new_id(), session=session, parent=parent)
        message_rows.insert(connection, copy)
        for identity in ledger_rows.identities(connection, message.id):
            ledger = ledger_rows.load(connection, message.id, identity)
            if ledger is not None:
                ledger_rows.save(connection, copy.id, ledger, answer)
        parent = copy.id
        answer = copy.id if copy.role == "assistant" else answer
    return parent
