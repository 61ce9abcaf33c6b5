"""The sessions' side of the history: making, finding, listing, naming, copying and removing them.

Invariant: as of the history: what a method returns is durable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skippy_chat.chat import ledger_rows, message_rows, searching, session_rows, trash
from skippy_chat.chat.database import Database
from skippy_chat.chat.forking import copy_branch
from skippy_chat.chat.messages import Session
from skippy_chat.chat.schema import snapshot, telling
from skippy_chat.chat.searching import Found, Hit
from skippy_chat.chat.session_rows import Overview
from skippy_chat.chat.trees import MAIN, OnProgress, SessionTree, plant_tree, read_tree
from skippy_chat.errors import HistoryError
from skippy_chat.text.scalars import scalar_text


class SessionStore(Database):
    """What ``History`` does with sessions."""

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

    def keep_settings(self, session: str, changes: Mapping[str, Any]) -> Session:
        """Let a session (by id) keep these settings beside its others; those that are None it keeps no longer."""
        with self._writing() as connection:
            kept = {**session_rows.get(connection, session).settings, **changes}
            kept = {key: value for key, value in kept.items() if value is not None}
            session_rows.change(connection, session, settings=session_rows.encode_settings(kept))
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
            forked = dataclasses.replace(
                source, id=self._new_id(), title=title, created=now, updated=now, deleted=None
            )
            session_rows.insert(connection, forked)
            stands_on = at or message_rows.head(connection, session, head)
            if stands_on is not None:
                if message_rows.get(connection, stands_on).session != session:
                    raise HistoryError(f"Message {stands_on} belongs to another session.")
                branch = message_rows.branch(connection, stands_on)
                last = copy_branch(connection, branch, forked.id, self._new_id)
                message_rows.set_head(connection, forked.id, MAIN, last)
        return forked

    # What is typed in a session and not sent

    def draft(self, session: str) -> str:
        """Return the text that was typed in a session (by id) and not sent."""
        with self._reading() as connection:
            return session_rows.draft(connection, session)

    def keep_draft(self, session: str, text: str) -> None:
        """Keep a text that is typed in a session (by id); that is no use of it, so its place in lists stays."""
        with self._writing() as connection:
            session_rows.change(connection, session, draft=scalar_text(text))

    # Deleting

    def put_away(self, session: str) -> Session:
        """Delete a session (by id) so that it can be restored: it is in no list and found by nothing any more."""
        with self._writing() as connection:
            return trash.put_away(connection, session, self._now())

    def bring_back(self, session: str) -> Session:
        """Restore a deleted session (by id); where its name is taken by now, it gets a mark."""
        with self._writing() as connection:
            return trash.bring_back(connection, session)

    def bring_back_named(self, reference: str) -> Session | None:
        """Restore the deleted session of a name or id, or the last deleted for an empty one; None: none is deleted.

        Raises:
            SessionNotFound: none or several fit what was named.
        """
        if reference:
            return self.bring_back(self.deleted_session(reference).id)
        last = self.deleted(1)
        return self.bring_back(last[0].session.id) if last else None

    def deleted(self, limit: int | None = None) -> list[Overview]:
        """Return what a list shows of each deleted session, the last deleted first."""
        with self._reading() as connection:
            return [session_rows.overview(connection, each) for each in trash.deleted(connection, limit)]

    def deleted_session(self, reference: str) -> Session:
        """Return the deleted session with this name, id, or start of an id (6 characters or more, if only one fits).

        Raises:
            SessionNotFound: none or several fit.
        """
        with self._reading() as connection:
            return trash.look_up(connection, reference)

    def expired(self, before: int) -> list[Session]:
        """Return the sessions that were deleted before ``before`` (milliseconds since the epoch), oldest first."""
        with self._reading() as connection:
            return trash.expired(connection, before)

    def delete(self, session: str) -> None:
        """Remove a session (by id) with its messages, heads and ledgers, for good."""
        with self._writing() as connection:
            trash.remove(connection, session)

    def prompts_of(self, sessions: Sequence[str]) -> dict[str, list[bytes]]:
        """Return for each model identity what it was fed in sessions (by id), as packed ids: one text per ledger."""
        found: dict[str, list[bytes]] = {}
        with self._reading() as connection:
            for session in sessions:
                for message, identity in ledger_rows.of_session(connection, session):
                    found.setdefault(identity, []).append(
                        ledger_rows.packed_ids(connection, message, identity) or b""
                    )
        return found

    def prompts_with(self, identity: str) -> Iterator[bytes]:
        """Yield what a model identity was fed on every branch of every session, as packed ids."""
        with self._reading() as connection:
            ends = ledger_rows.ends(connection, identity)
        for message in ends:
            with self._reading() as connection:
                ids = ledger_rows.packed_ids(connection, message, identity)
            if ids is not None:
                yield ids

    # Searching

    def search(self, text: str, folder: Path | None = None, limit: int = 50) -> list[Hit]:
        """Find messages that have all words of ``text`` (the last may be a beginning), best first."""
        with self._reading() as connection:
            return searching.find_messages(connection, scalar_text(text), folder, limit)

    def found(
        self, text: str, folder: Path | None = None, *, first: Path | None = None, limit: int | None = None
    ) -> list[Found]:
        """Find sessions whose title has all words of ``text``, or that have a message which does; no words find all.

        Those of folder ``first`` come before the others, then those found by their title, then the last used.
        """
        with self._reading() as connection:
            return searching.find_sessions(connection, scalar_text(text), folder, first=first, limit=limit)

    # Whole trees

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

    def _refuse_taken(self, title: str, but: str = "") -> None:
        holder = session_rows.find(self._connection, title)
        if holder is not None and holder.id != but:
            raise HistoryError(f"A session named {title!r} exists already.", "Choose another name.")
