"""A session as one value, all branches or one: what exports are made of, and what an import stores.

Invariant: every message stands behind its parent, so a tree can be written, and its branches told, in one pass.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skippy_chat.chat import ledger_rows, message_rows, session_rows
from skippy_chat.chat.ledger import Ledger
from skippy_chat.chat.messages import Message, Session
from skippy_chat.errors import HistoryError

MAIN = "main"
TITLE_ROOM = 180  # of a title's 200 characters, so that a mark fits behind it
_TELL_EVERY = 256
_PREFIX = 6

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SessionTree:
    """A session with its messages; ``heads`` says which message each head stands on.

    ``ledgers`` are (id of the message, ledger), in the order of their messages.
    """

    session: Session
    messages: tuple[Message, ...]
    heads: Mapping[str, str] = field(default_factory=dict)
    ledgers: tuple[tuple[str, Ledger], ...] = ()

    def branch(self, message: str | None = None) -> SessionTree:
        """Return the branch that ends at ``message``, or at the main head; without that head nothing is left.

        Raises:
            HistoryError: the session has no such message.
        """
        by_id = {each.id: each for each in self.messages}
        if message is not None and message not in by_id:
            raise HistoryError(
                f"There is no message {message} in {self.session.name}.",
                "List the branches: skippy-chat sessions branches NAME",
            )
        last = message or self.heads.get(MAIN)
        way: list[Message] = []
        at = last
        while at is not None:
            way.append(by_id[at])
            at = by_id[at].parent
        kept = {each.id for each in way}
        return SessionTree(
            self.session,
            tuple(reversed(way)),
            {} if last is None else {MAIN: last},
            tuple(each for each in self.ledgers if each[0] in kept),
        )

    def message_meant(self, reference: str) -> str:
        """Return the id of the message with this id or start of an id (6 characters or more, if only one fits).

        Raises:
            HistoryError: none or several fit.
        """
        start = reference.strip().upper()
        fitting = [each.id for each in self.messages if len(start) >= _PREFIX and each.id.startswith(start)]
        if start in fitting or len(fitting) == 1:
            return start if start in fitting else fitting[0]
        if fitting:
            raise HistoryError(
                f"{reference!r} is the start of several message ids.",
                f"Give more of it: {', '.join(fitting[:5])}.",
            )
        raise HistoryError(
            f"There is no message {reference!r} in {self.session.name}.",
            "List the branches: skippy-chat sessions branches NAME",
        )

    def callers(self) -> dict[str, str | None]:
        """Return for each tool's result the id of the message above that may have called it."""
        tools = {each.id for each in self.messages if each.role == "tool"}
        above: dict[str, str | None] = {}
        for each in self.messages:
            if each.id in tools:
                above[each.id] = above[each.parent] if each.parent in tools and each.parent else each.parent
        return above

    def sections(self) -> Iterator[Section]:
        """Yield the current branch whole, then of every other branch, oldest first, what stands in none before."""
        by_id = {each.id: each for each in self.messages}
        parents = {each.parent for each in self.messages}
        ends = [self.heads[MAIN]] if MAIN in self.heads else []
        ends += [each.id for each in self.messages if each.id not in parents]
        numbers: dict[str, int] = {}
        for end in ends:
            way: list[Message] = []
            at: str | None = end
            while at is not None and at not in numbers:
                way.append(by_id[at])
                at = by_id[at].parent
            if not way:
                continue  # the current branch again
            way.reverse()
            after = None if at is None else numbers[at]
            numbers |= {each.id: len(numbers) + place for place, each in enumerate(way, 1)}
            yield Section(after, tuple((numbers[each.id], each) for each in way))


@dataclass(frozen=True, slots=True)
class Section:
    """A branch as far as it is its own: numbered messages, behind number ``after`` or at the beginning."""

    after: int | None
    messages: tuple[tuple[int, Message], ...]


def branch_tree(session: Session, messages: Sequence[Message]) -> SessionTree:
    """Return a branch, root first, as a tree: what a face exports of the conversation that it shows."""
    return SessionTree(session, tuple(messages), {MAIN: messages[-1].id} if messages else {})


def joined_tree(session: Session, branches: Iterable[Sequence[Message]], head: str | None) -> SessionTree:
    """Return branches, each root first, as one tree whose main head stands on message ``head``."""
    messages = {each.id: each for branch in branches for each in branch}
    return SessionTree(session, tuple(messages.values()), {} if head is None else {MAIN: head})


def read_tree(connection: sqlite3.Connection, session: str, *, ledgers: bool) -> SessionTree:
    """Return a session (by id) with all branches, within the caller's transaction."""
    stored = session_rows.get(connection, session)
    messages = message_rows.where(connection, "session = ? ORDER BY number", session)
    heads = connection.execute("SELECT name, message FROM heads WHERE session = ? ORDER BY name", (session,))
    return SessionTree(
        stored,
        tuple(messages),
        dict(heads.fetchall()),
        tuple(_ledgers(connection, messages)) if ledgers else (),
    )


def plant_tree(
    connection: sqlite3.Connection,
    tree: SessionTree,
    folder: Path,
    now: int,
    new_id: Callable[[], str],
    on_progress: OnProgress | None,
) -> Session:
    """Store a tree as a new session of ``folder``, under new ids, within the caller's transaction.

    Turns get new ids, too: the files of a turn that was taken elsewhere must not be undone here. A title that is
    taken gets a mark.
    """
    session = dataclasses.replace(
        tree.session,
        id=new_id(),
        title=_free_title(connection, tree.session.title),
        folder=session_rows.folder_text(folder),
        created=now,
        updated=now,
        deleted=None,
    )
    session_rows.insert(connection, session)
    ids: dict[str, str] = {}
    turns: dict[str, str] = {"": ""}
    for number, message in enumerate(tree.messages):
        if message.turn not in turns:
            turns[message.turn] = new_id()
        ids[message.id] = new_id()
        copy = dataclasses.replace(
            message,
            id=ids[message.id],
            session=session.id,
            parent=None if message.parent is None else ids[message.parent],
            turn=turns[message.turn],
        )
        message_rows.insert(connection, copy)
        if on_progress is not None and number % _TELL_EVERY == 0:
            on_progress(number, len(tree.messages))
    for name, at in tree.heads.items():
        message_rows.set_head(connection, session.id, name, ids[at])
    bases = nearest_ledgers(tree)
    for at, ledger in tree.ledgers:
        base = bases[at, ledger.identity]
        ledger_rows.save(connection, ids[at], ledger, None if base is None else ids[base])
    return session


def nearest_ledgers(tree: SessionTree) -> dict[tuple[str, str], str | None]:
    """Return for each (message, identity) of a ledger the nearest message above with one of the same identity."""
    having: dict[str, set[str]] = {}
    for at, ledger in tree.ledgers:
        having.setdefault(at, set()).add(ledger.identity)
    # What holds at a message: shared with its parent's where it adds nothing, so a long tree costs its length.
    nearest: dict[str | None, dict[str, str]] = {None: {}}
    found: dict[tuple[str, str], str | None] = {}
    for message in tree.messages:
        above = nearest[message.parent]
        own = having.get(message.id, set())
        for identity in own:
            found[message.id, identity] = above.get(identity)
        nearest[message.id] = {**above, **dict.fromkeys(own, message.id)} if own else above
    return found


def _ledgers(connection: sqlite3.Connection, messages: Iterable[Message]) -> Iterator[tuple[str, Ledger]]:
    for message in messages:
        for identity in ledger_rows.identities(connection, message.id):
            ledger = ledger_rows.load(connection, message.id, identity)
            if ledger is not None:
                yield message.id, ledger


def _free_title(connection: sqlite3.Connection, title: str) -> str:
    marked, number = title, 1
    while marked and session_rows.find(connection, marked) is not None:
        mark = " (imported)" if number == 1 else f" (imported {number})"
        marked, number = title[:TITLE_ROOM].rstrip() + mark, number + 1
    return marked
