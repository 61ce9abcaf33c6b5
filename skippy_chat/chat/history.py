"""The history database: sessions, their message trees, heads, ledgers and search.

Invariant: what a method returns is durable. A user's message is on disk before a model is asked, and a partial answer
survives a crash as far as it was last saved. Deleting the checkpoint cache never touches it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import final

from skippy_chat.chat import ledger_rows, message_rows, session_rows
from skippy_chat.chat.copying import copy_behind
from skippy_chat.chat.ledger import AnswerIds, Ledger
from skippy_chat.chat.messages import Message, Role, State, ToolCall
from skippy_chat.chat.session_store import SessionStore
from skippy_chat.chat.trees import MAIN
from skippy_chat.events import ToolStatus
from skippy_chat.text.scalars import scalar_text


@final
class History(SessionStore):
    """One open history database, safe to use from several threads and processes at once.

    Every method raises ``HistoryError`` when the database cannot be read or written, or an id is not in it.
    """

    # Messages

    def append(
        self,
        session: str,
        parent: str | None,
        role: Role,
        content: str,
        *,
        reasoning: str | None = None,
        tool_calls: Sequence[ToolCall] = (),
        tool_call_id: str | None = None,
        state: State = "complete",
        finish_reason: str | None = None,
        status: ToolStatus | None = None,
        turn: str = "",
        head: str | None = MAIN,
    ) -> Message:
        """Store a message under ``parent`` and move ``head`` to it (None moves none), durable on return.

        An answer, and a result of a tool that runs, is stored as interrupted when it begins, then brought up to date by
        ``finish``.
        """
        message = Message(
            id=self._new_id(),
            session=session,
            parent=parent,
            role=role,
            content=scalar_text(content),
            reasoning=None if reasoning is None else scalar_text(reasoning),
            tool_calls=_scalar_calls(tool_calls),
            tool_call_id=tool_call_id,
            state=state,
            finish_reason=finish_reason,
            created=self._now(),
            status=status,
            turn=turn,
        )
        with self._writing() as connection:
            session_rows.get(connection, session)
            message_rows.insert(connection, message)
            session_rows.change(connection, session, updated=message.created)
            if head is not None:
                message_rows.set_head(connection, session, head, message.id)
        return message

    def finish(
        self,
        message_id: str,
        content: str,
        *,
        reasoning: str | None = None,
        tool_calls: Sequence[ToolCall] = (),
        state: State = "complete",
        finish_reason: str | None = None,
        status: ToolStatus | None = None,
        detail: str = "",
        ledger: Ledger | None = None,
        base: str | None = None,
    ) -> Message:
        """Replace a message's text and state: an answer's while it streams (interrupted), and whatever ended.

        Its ``ledger`` is stored with it: both, or neither; ``base`` as in ``save_ledger``.
        """
        with self._writing() as connection:
            message = dataclasses.replace(
                message_rows.get(connection, message_id),
                content=scalar_text(content),
                reasoning=None if reasoning is None else scalar_text(reasoning),
                tool_calls=_scalar_calls(tool_calls),
                state=state,
                finish_reason=finish_reason,
                status=status,
                detail=scalar_text(detail),
            )
            message_rows.update(connection, message)
            session_rows.change(connection, message.session, updated=self._now())
            if ledger is not None:
                ledger_rows.save(connection, message_id, ledger, base)
        return message

    def message(self, message_id: str) -> Message:
        """Return one message."""
        with self._reading() as connection:
            return message_rows.get(connection, message_id)

    def branch(self, message_id: str | None) -> list[Message]:
        """Return the way from the root to a message, both included; nothing for None."""
        if message_id is None:
            return []
        with self._reading() as connection:
            return message_rows.branch(connection, message_id)

    def children(self, message_id: str | None, session: str) -> list[Message]:
        """Return what follows a message, oldest first; for None the roots of the session."""
        with self._reading() as connection:
            return message_rows.where(
                connection, "session = ? AND parent IS ? ORDER BY number", session, message_id
            )

    def leaves(self, session: str) -> list[Message]:
        """Return the last message of every branch, newest first."""
        with self._reading() as connection:
            return message_rows.where(
                connection,
                "session = ?1 AND NOT EXISTS (SELECT 1 FROM messages AS below"
                " WHERE below.session = ?1 AND below.parent = messages.id) ORDER BY number DESC",
                session,
            )

    def head(self, session: str, name: str = MAIN) -> str | None:
        """Return the id of the message that a head stands on."""
        with self._reading() as connection:
            return message_rows.head(connection, session, name)

    def set_head(self, session: str, message_id: str | None, name: str = MAIN) -> None:
        """Move a head; None takes it away, so that the next message is a new root."""
        with self._writing() as connection:
            message_rows.set_head(connection, session, name, message_id)

    def copy_behind(self, session: str, parent: str | None, messages: Sequence[Message]) -> str | None:
        """Store copies of messages behind ``parent``, move the main head to the last, and return it: all or nothing."""
        with self._writing() as connection:
            now = self._now()
            last = copy_behind(connection, session, parent, messages, self._new_id, now)
            message_rows.set_head(connection, session, MAIN, last)
            session_rows.change(connection, session, updated=now)
        return last

    # Ledgers

    def save_ledger(self, message_id: str, ledger: Ledger, base: str | None = None) -> None:
        """Store the ledger of a message; only ids that ``base``'s ledger lacks take room.

        ``base`` is a message of the same session, usually the answer before. One without a ledger is no base.
        """
        with self._writing() as connection:
            message_rows.get(connection, message_id)
            ledger_rows.save(connection, message_id, ledger, base)

    def ledger(self, message_id: str, identity: str) -> Ledger | None:
        """Return the ledger of a message for a model identity, or None (also when it is damaged)."""
        with self._reading() as connection:
            return ledger_rows.load(connection, message_id, identity)

    def answer_ids(self, message_id: str, identity: str) -> AnswerIds | None:
        """Return what the ledger says of the answer alone: cheap, for every answer of a branch."""
        with self._reading() as connection:
            return ledger_rows.load_answer(connection, message_id, identity)

    def ledger_identities(self, message_id: str) -> list[str]:
        """Return the model identities a message has ledgers for: tells other_model from nothing_stored."""
        with self._reading() as connection:
            return ledger_rows.identities(connection, message_id)


def _scalar_calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(*map(scalar_text, (call.id, call.name, call.arguments))) for call in calls)
