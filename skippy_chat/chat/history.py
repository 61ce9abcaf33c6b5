"""The history database: sessions, their message trees, heads, ledgers and search.

Invariant: what a method returns is durable. A user's message is on disk before a model is asked, and a partial answer
survives a crash as far as it was last saved. Deleting the checkpoint cache never touches it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from skippy_chat.chat import ledger_rows, message_rows, session_rows
from skippy_chat.chat.forking import copy_branch
from skippy_chat.chat.ledger import AnswerIds, Ledger
from skippy_chat.chat.message_rows import Hit
from skippy_chat.chat.messages import Message, Role, Session, State, ToolCall
from skippy_chat.chat.schema import connect, snapshot, telling, transaction
from skippy_chat.chat.session_rows import Overview
from skippy_chat.chat.trees import MAIN, OnProgress, SessionTree, plant_tree, read_tree
from skippy_chat.chat.ulid import UlidSource
from skippy_chat.errors import HistoryError
from skippy_chat.events import ToolStatus
from skippy_chat.text.scalars import scalar_text


@final
class History:
    """One open history database, safe to use from several threads and processes at once.

    Every method raises ``HistoryError`` when the database cannot be read or written, or an id is not in it.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        now: Callable[[], int],
        entropy: Callable[[int], bytes],
    ) -> None:
        self._connection = connection
        self._path = path
        self._now = now
        self._new_id = UlidSource(now, entropy)
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls, path: Path, *, now: Callable[[], int], entropy: Callable[[int], bytes] = os.urandom
    ) -> History:
        """Open or make the database; ``now`` gives milliseconds since the epoch.

        Raises:
            ConfigError: its folder cannot be made, or others can write to it.
            HistoryError: it is damaged, foreign or newer; it is left as it was.
        """
        return cls(connect(path), path, now, entropy)

    def close(self) -> None:
        """Close the database; safe to call twice."""
        with self._lock, telling(self._path):
            self._connection.close()

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sessions

    def create_session(
        self, *, folder: Path, title: str = "", model: str = "", settings: Mapping[str, Any] | None = None
    ) -> Session:
        """Make a session; a title is unique in the whole history, and may be empty.

        Raises:
            HistoryError: the title is taken, or not fit to be a name.
        """
        title = session_rows.usable_title(title)
        at = self._now()
        session = Session(
            self._new_id(), title, session_rows.folder_text(folder), at, at, model, dict(settings or {})
        )
        with self._writing() as connection:
            self._refuse_taken(title)
            session_rows.insert(connection, session)
        return session

    def open_session(
        self, reference: str, *, folder: Path, model: str = "", settings: Mapping[str, Any] | None = None
    ) -> Session:
        """Return the session of that name or id, made on the spot if there is none: what ``--session`` means."""
        found = self.find(reference)
        if found is not None:
            return found
        try:
            return self.create_session(folder=folder, title=reference, model=model, settings=settings)
        except HistoryError:
            # Another process may have made it in between.
            found = self.find(reference)
            if found is None:
                raise
            return found

    def find(self, reference: str) -> Session | None:
        """Return the session with exactly this name or id."""
        with self._reading() as connection:
            return session_rows.find(connection, reference)

    def session(self, reference: str) -> Session:
        """Return the session with this name, id, or start of an id (6 characters or more, if only one fits).

        Raises:
            SessionNotFound: none or several fit; the hint lists the closest names.
        """
        with self._reading() as connection:
            return session_rows.look_up(connection, reference)

    def sessions(self, folder: Path | None = None, limit: int | None = None) -> list[Session]:
        """Return sessions, those of ``folder`` or all, the last used first."""
        with self._reading() as connection:
            return session_rows.select(connection, folder, limit)

    def overviews(self, folder: Path | None = None, limit: int | None = None) -> list[Overview]:
        """Return what a list shows of each session, the last used first."""
        with self._reading() as connection:
            found = session_rows.select(connection, folder, limit)
            return [session_rows.overview(connection, session) for session in found]

    def overview(self, session: str) -> Overview:
        """Return what a list shows of one session (by id)."""
        with self._reading() as connection:
            return session_rows.overview(connection, session_rows.get(connection, session))

    def newest(self, folder: Path | None = None) -> Session | None:
        """Return the session of ``folder`` (or any) that was used last."""
        return next(iter(self.sessions(folder, 1)), None)

    def rename(self, session: str, title: str) -> Session:
        """Give a session (by id) another name; an empty one takes it away.

        Raises:
            HistoryError: the name is taken, or not fit to be one.
        """
        title = session_rows.usable_title(title)
        with self._writing() as connection:
            self._refuse_taken(title, but=session)
            session_rows.change(connection, session, title=title)
            return session_rows.get(connection, session)

    def keep_made_title(self, session: str, title: str) -> Session:
        """Keep a title that the program made of a session (by id): it is only shown, and finds nothing."""
        title = session_rows.usable_title(title)
        with self._writing() as connection:
            return session_rows.keep_made_title(connection, session, title)

    def update_session(
        self, session: str, *, model: str | None = None, settings: Mapping[str, Any] | None = None
    ) -> Session:
        """Store the model or settings that a session (by id) goes on with; what is None stays."""
        with self._writing() as connection:
            if model is not None:
                session_rows.change(connection, session, model=model)
            if settings is not None:
                session_rows.change(connection, session, settings=session_rows.encode_settings(settings))
            return session_rows.get(connection, session)

    def fork(self, session: str, title: str = "", *, head: str = MAIN, at: str | None = None) -> Session:
        """Copy the branch down to message ``at`` into a new session, ledgers included; ``session`` (an id) stays.

        Without ``at`` it is the branch that ``head`` stands on. Safe while another process writes ``session``: what is
        durable at this moment is copied.

        Raises:
            HistoryError: the title is taken, or not fit to be a name; ``at`` is no message of the session.
        """
        title = session_rows.usable_title(title)
        with self._writing() as connection:
            self._refuse_taken(title)
            source, now = session_rows.get(connection, session), self._now()
            forked = dataclasses.replace(source, id=self._new_id(), title=title, created=now, updated=now)
            session_rows.insert(connection, forked)
            stands_on = at or message_rows.head(connection, session, head)
            if stands_on is not None:
                if message_rows.get(connection, stands_on).session != session:
                    raise HistoryError(f"Message {stands_on} belongs to another session.")
                branch = message_rows.branch(connection, stands_on)
                last = copy_branch(connection, branch, forked.id, self._new_id)
                message_rows.set_head(connection, forked.id, MAIN, last)
        return forked

    def delete(self, session: str) -> None:
        """Remove a session (by id) with its messages, heads and ledgers."""
        with self._writing() as connection:
            session_rows.get(connection, session)
            session_rows.delete(connection, session)

    def tree(self, session: str, *, ledgers: bool = False) -> SessionTree:
        """Return a session (by id) with all its branches, as it is at one moment; its ledgers too, if asked."""
        with self._lock, telling(self._path), snapshot(self._connection):
            return read_tree(self._connection, session, ledgers=ledgers)

    def plant(
        self, tree: SessionTree, *, folder: Path, title: str = "", on_progress: OnProgress | None = None
    ) -> Session:
        """Store a tree that comes from elsewhere as a new session of ``folder``: all of it or nothing.

        Messages and turns get new ids. Its own title gets a mark if it is taken; ``title`` instead must be free.
        ``on_progress`` gets messages (done, total).

        Raises:
            HistoryError: the title is taken, or not fit to be a name.
        """
        named = session_rows.usable_title(title or tree.session.title)
        tree = dataclasses.replace(tree, session=dataclasses.replace(tree.session, title=named))
        with self._writing() as connection:
            if title:
                self._refuse_taken(named)
            return plant_tree(connection, tree, folder, self._now(), self._new_id, on_progress)

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

    def search(self, text: str, folder: Path | None = None, limit: int = 50) -> list[Hit]:
        """Find messages that have all words of ``text`` (the last may be a beginning), best first."""
        with self._reading() as connection:
            return message_rows.search(connection, scalar_text(text), folder, limit)

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

    def _refuse_taken(self, title: str, but: str = "") -> None:
        holder = session_rows.find(self._connection, title)
        if holder is not None and holder.id != but:
            raise HistoryError(f"A session named {title!r} exists already.", "Choose another name.")

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, telling(self._path):
            yield self._connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, telling(self._path), transaction(self._connection):
            yield self._connection


def _scalar_calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(*map(scalar_text, (call.id, call.name, call.arguments))) for call in calls)
