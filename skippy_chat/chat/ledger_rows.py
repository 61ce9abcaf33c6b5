"""Ledgers in the history database, each kept as what is new against a base.

A row holds the ids after the longest prefix it shares with its base, so a conversation costs its length once. Reading
walks the bases: one indexed row per earlier answer of the branch, and never an id that a later row replaced. It ends
as soon as the prefix is whole.

Invariant: a row that others build on never changes under them.
"""

from __future__ import annotations

import sqlite3

from skippy_chat.chat.ledger import (
    AnswerIds,
    Ledger,
    pack_ids,
    pack_schedule,
    shared_prefix,
    unpack_ids,
    unpack_schedule,
)


def save(connection: sqlite3.Connection, message: str, ledger: Ledger, base: str | None) -> None:
    """Store a ledger, within the caller's transaction; one that is there is replaced.

    A base without a ledger of the same identity, or of another session, is no base.
    """
    _free_dependents(connection, message, ledger.identity)
    ids = pack_ids(ledger.ids)
    shared = 0
    if base is not None and base != message and _same_session(connection, message, base):
        shared = shared_prefix(ids, packed_ids(connection, base, ledger.identity) or b"")
    _write(connection, message, ledger, base if shared else None, shared, ids[4 * shared :])


def load(connection: sqlite3.Connection, message: str, identity: str) -> Ledger | None:
    """Read a ledger; None when there is none, or when what is stored does not fit together."""
    row = connection.execute(
        "SELECT prompt_tokens, cuts, sampled, sampling FROM ledger WHERE message = ? AND identity = ?",
        (message, identity),
    ).fetchone()
    ids = packed_ids(connection, message, identity)
    if row is None or ids is None:
        return None
    prompt_tokens, cuts, sampled, sampling = row
    try:
        return Ledger(identity, unpack_ids(ids), prompt_tokens, unpack_schedule(cuts, sampled), sampling)
    except ValueError:
        return None  # costs a reading of the prompt, not the conversation


def load_answer(connection: sqlite3.Connection, message: str, identity: str) -> AnswerIds | None:
    """Read the answer's part alone; it is nearly always in the row itself, so that no base is read."""
    row = connection.execute(
        "SELECT prompt_tokens, shared, ids, cuts, sampled FROM ledger WHERE message = ? AND identity = ?",
        (message, identity),
    ).fetchone()
    if row is None:
        return None
    prompt_tokens, shared, own, cuts, sampled = row
    if not 0 <= shared <= prompt_tokens <= shared + len(own) // 4:
        whole = load(connection, message, identity)
        return None if whole is None else whole.answer
    try:
        ids = unpack_ids(own[4 * (prompt_tokens - shared) :])
        fed = sum(run.tokens for run in unpack_schedule(cuts, sampled)) - prompt_tokens
    except ValueError:
        return None
    return AnswerIds(ids, max(0, fed)) if fed <= len(ids) else None


def ends(connection: sqlite3.Connection, identity: str) -> list[str]:
    """Return the messages whose ledgers of an identity no other one builds on: the ends of all branches."""
    rows = connection.execute(
        "SELECT message FROM ledger WHERE identity = ?1 AND NOT EXISTS"
        " (SELECT 1 FROM ledger AS later WHERE later.base = ledger.message AND later.identity = ?1)",
        (identity,),
    )
    return [row[0] for row in rows]


def of_session(connection: sqlite3.Connection, session: str) -> list[tuple[str, str]]:
    """Return (message, identity) of each ledger of a session."""
    rows = connection.execute(
        "SELECT message, identity FROM ledger JOIN messages ON messages.id = message WHERE session = ?",
        (session,),
    )
    return rows.fetchall()


def identities(connection: sqlite3.Connection, message: str) -> list[str]:
    """Return the model identities that a message has a ledger for."""
    rows = connection.execute("SELECT identity FROM ledger WHERE message = ? ORDER BY rowid", (message,))
    return [row[0] for row in rows]


def packed_ids(connection: sqlite3.Connection, message: str, identity: str) -> bytes | None:
    """Return a ledger's ids, packed: put together from a row and its bases; None when a part is missing."""
    parts: list[bytes] = []
    at: str | None = message
    needed: int | None = None  # how many ids of this row count; None is all of them
    while at is not None:
        row = connection.execute(
            # The part of an empty blob is NULL.
            "SELECT base, shared, coalesce(substr(ids, 1, max(0, coalesce(?1 - shared, length(ids))) * 4), x'')"
            " FROM ledger WHERE message = ?2 AND identity = ?3",
            (needed, at, identity),
        ).fetchone()
        if row is None:
            return None
        at, shared, own = row
        if needed is not None and len(own) != max(0, needed - shared) * 4:
            return None
        parts.append(own)
        needed = shared if needed is None else min(needed, shared)
        if needed == 0:
            break
    return b"".join(reversed(parts)) if needed == 0 else None


def _free_dependents(connection: sqlite3.Connection, message: str, identity: str) -> None:
    rows = connection.execute(
        "SELECT message FROM ledger WHERE base = ? AND identity = ?", (message, identity)
    ).fetchall()
    for (dependent,) in rows:
        ids = packed_ids(connection, dependent, identity)
        if ids is not None:
            connection.execute(
                "UPDATE ledger SET base = NULL, shared = 0, ids = ? WHERE message = ? AND identity = ?",
                (ids, dependent, identity),
            )


def _write(
    connection: sqlite3.Connection, message: str, ledger: Ledger, base: str | None, shared: int, own: bytes
) -> None:
    cuts, sampled = pack_schedule(ledger.schedule)
    connection.execute(
        "INSERT OR REPLACE INTO ledger (message, identity, base, shared, prompt_tokens, ids, cuts, sampled,"
        " sampling) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message,
            ledger.identity,
            base,
            shared,
            ledger.prompt_tokens,
            own,
            cuts,
            sampled,
            ledger.sampling,
        ),
    )


def _same_session(connection: sqlite3.Connection, first: str, second: str) -> bool:
    rows = connection.execute("SELECT DISTINCT session FROM messages WHERE id IN (?, ?)", (first, second))
    return len(rows.fetchall()) == 1
