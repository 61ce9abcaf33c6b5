"""Full text search of messages and titles: SQLite's FTS5 where it is there, a look at every text where it is not.

Invariant: whatever is typed is a query, never a syntax error, and what is found is true of what is stored. An SQLite
without FTS5 that writes to a history leaves a mark, and the next one with it builds the index anew.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from skippy_chat.chat import session_rows
from skippy_chat.chat.messages import Message, Role, Session
from skippy_chat.chat.session_rows import Overview

MODULE = "fts5"
_STALE = "search_stale"
_MOST_WORDS, _LONGEST = 32, 100
_MOST_TYPED = 4000  # characters of a query; what is pasted may be a whole book
_AROUND = 12  # words of a snippet
_BEFORE, _AFTER = 40, 80  # characters of one that was found without the index
_ON, _OFF = "\x02", "\x03"

# Written without spaces, or with endings grown on: the index would hold a whole clause as one word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_SYSTEM = "m.role != 'system' AND s.deleted IS NULL AND (?{at} IS NULL OR s.folder = ?{at})"

Pieces: TypeAlias = "tuple[tuple[str, bool], ...]"


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found; ``snippet`` has the found words between ``[`` and ``]``."""

    session: Session
    message: str
    role: Role
    snippet: str
    created: int


@dataclass(frozen=True, slots=True)
class Found:
    """A session that a search found: by its title, or by a message, of which ``pieces`` are (text, whether found)."""

    overview: Overview
    pieces: Pieces = ()

    @property
    def snippet(self) -> str:
        """The found part of the message, the found words between ``[`` and ``]``; empty when the title was found."""
        return _bracketed(self.pieces)


def prepare(connection: sqlite3.Connection) -> None:
    """Make the index, or make it anew, where it is wanted and this SQLite can; within a transaction of its own."""
    state = _state(connection)
    if state == "no module" or (state == "there" and _mark(connection) is None):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _build(connection)
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        connection.execute("ROLLBACK")
        if "no such module" not in str(error):
            raise
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def index(connection: sqlite3.Connection, message: Message) -> None:
    """Bring the index up to date on a message that was stored or changed."""
    if message.role == "system":
        return  # the same persona in every session would answer every search
    if not _is_indexed(connection):
        _leave_mark(connection)
        return
    number = connection.execute("SELECT number FROM messages WHERE id = ?", (message.id,)).fetchone()[0]
    connection.execute("DELETE FROM search WHERE rowid = ?", (number,))
    if message.content:
        connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (number, message.content))


def forget(connection: sqlite3.Connection, session: str) -> None:
    """Take a session's messages, which are still stored, out of the index."""
    if not _is_indexed(connection):
        _leave_mark(connection)
        return
    connection.execute(
        "DELETE FROM search WHERE rowid IN (SELECT number FROM messages WHERE session = ?)", (session,)
    )


def find_messages(connection: sqlite3.Connection, text: str, folder: Path | None, limit: int) -> list[Hit]:
    """Find messages that have all words of ``text`` (the last may be a beginning), best first."""
    words, where = _words(text), None if folder is None else session_rows.folder_text(folder)
    if not words:
        return []
    if _needs_look(connection, words):
        found = [
            (row, _around(content, words)) for row, content in _looked(connection, words, where, limit=limit)
        ]
    else:
        rows = connection.execute(
            f"SELECT m.id, m.session, m.role, m.created, snippet(search, 0, '{_ON}', '{_OFF}', '…', {_AROUND})"  # noqa: S608
            " FROM search JOIN messages m ON m.number = search.rowid JOIN sessions s ON s.id = m.session"
            f" WHERE search MATCH ?1 AND {_SYSTEM.format(at=2)} ORDER BY search.rank, m.number DESC LIMIT ?3",
            (_query(words), where, limit),
        ).fetchall()
        found = [((each[0], each[1], each[2], each[3]), _pieces(each[4])) for each in rows]
    return [
        Hit(session_rows.get(connection, session), message, role, _bracketed(pieces), created)
        for (message, session, role, created), pieces in found
    ]


def find_sessions(
    connection: sqlite3.Connection,
    text: str,
    folder: Path | None = None,
    *,
    first: Path | None = None,
    limit: int | None = None,
) -> list[Found]:
    """Find sessions whose title has all words of ``text``, or that have a message which does; no words find all.

    Those of folder ``first`` come before the others, then those found by their title, then the last used.
    """
    words = _words(text)
    sessions = session_rows.select(connection, folder, None)
    by_title: set[str] = set()
    newest: dict[str, int] = {}
    if words:
        wanted = _parts(words)
        by_title = {each.id for each in sessions if _has(fold(f"{each.title} {each.made_title}"), wanted)}
        newest = _newest(connection, words, None if folder is None else session_rows.folder_text(folder))
        sessions = [each for each in sessions if each.id in by_title or each.id in newest]
    here = None if first is None else session_rows.folder_text(first)
    sessions.sort(
        key=lambda each: (here is not None and each.folder != here, words and each.id not in by_title)
    )
    return [
        Found(
            session_rows.overview(connection, each),
            () if each.id in by_title or not words else _snippet(connection, words, newest[each.id]),
        )
        for each in sessions[:limit]
    ]


def fold(text: str) -> str:
    """Return text as it is compared: without accents, of one case."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(each for each in apart if not "\u0300" <= each <= "\u036f").casefold()


def _words(text: str) -> list[str]:
    printable = "".join(
        " " if unicodedata.category(each).startswith("C") else each for each in text[:_MOST_TYPED]
    )
    found = (word[:_LONGEST] for word in unicodedata.normalize("NFC", printable).split())
    # A word of signs alone is in no index.
    return [word for word in found if any(each.isalnum() for each in word)][:_MOST_WORDS]


def _query(words: Sequence[str]) -> str:
    # Quoted, so that no word is an operator; the star makes the last a beginning.
    return " ".join('"' + word.replace('"', '""') + '"' for word in words) + "*"


def _parts(words: Sequence[str]) -> list[str]:
    """Return the letters and digits of words as they are compared, signs left out as the index does."""
    return [part for word in words for part in re.findall(r"[^\W_]+", fold(word))]


def _patterns(words: Sequence[str]) -> list[re.Pattern[str]]:
    """Return what finds words, or words that begin with them, in text that was folded."""
    return [
        re.compile(("" if _UNSPACED.search(part) else r"(?<![^\W_])") + re.escape(part))
        for part in set(_parts(words))
    ]


def _has(folded: str, wanted: Sequence[str]) -> bool:
    return all(word in folded for word in wanted)


def _state(connection: sqlite3.Connection) -> Literal["there", "no table", "no module"]:
    try:
        connection.execute("SELECT rowid FROM search LIMIT 0")
    except sqlite3.OperationalError as error:
        if "no such module" in str(error):
            return "no module"
        if "no such table" in str(error):
            return "no table"
        raise
    return "there"


def _is_indexed(connection: sqlite3.Connection) -> bool:
    return _state(connection) == "there"


def _mark(connection: sqlite3.Connection) -> tuple[str] | None:
    found: tuple[str] | None = connection.execute(
        "SELECT value FROM marks WHERE name = ?", (_STALE,)
    ).fetchone()
    return found


def _leave_mark(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR IGNORE INTO marks VALUES (?, '')", (_STALE,))


def _build(connection: sqlite3.Connection) -> None:
    if _is_indexed(connection):
        connection.execute("DELETE FROM search")
    else:
        connection.execute(
            f"CREATE VIRTUAL TABLE search USING {MODULE} (text, tokenize = 'unicode61 remove_diacritics 2')"
        )
    rows = connection.execute("SELECT number, raw FROM messages WHERE role != 'system'")
    connection.executemany(
        "INSERT INTO search (rowid, text) VALUES (?, ?)",
        ((number, content) for number, raw in rows if (content := _content(raw))),
    )
    connection.execute("DELETE FROM marks WHERE name = ?", (_STALE,))


def _needs_look(connection: sqlite3.Connection, words: Sequence[str]) -> bool:
    return not _is_indexed(connection) or any(_UNSPACED.search(word) for word in words)


def _newest(connection: sqlite3.Connection, words: Sequence[str], folder: str | None) -> dict[str, int]:
    """Return for each session with a message that has all words the number of the newest one."""
    if _needs_look(connection, words):
        numbers: dict[str, int] = {}
        for (message, session, _role, _created), _content_of in _looked(connection, words, folder):
            if session not in numbers:
                numbers[session] = _number(connection, message)
        return numbers
    rows = connection.execute(
        "SELECT m.session, max(m.number) FROM search JOIN messages m ON m.number = search.rowid"  # noqa: S608
        f" JOIN sessions s ON s.id = m.session WHERE search MATCH ?1 AND {_SYSTEM.format(at=2)} GROUP BY m.session",
        (_query(words), folder),
    )
    return dict(rows.fetchall())


def _snippet(connection: sqlite3.Connection, words: Sequence[str], number: int) -> Pieces:
    if _needs_look(connection, words):
        raw = connection.execute("SELECT raw FROM messages WHERE number = ?", (number,)).fetchone()[0]
        return _around(_content(raw), words)
    found = connection.execute(
        f"SELECT snippet(search, 0, '{_ON}', '{_OFF}', '…', {_AROUND}) FROM search"  # noqa: S608
        " WHERE search MATCH ? AND rowid = ?",
        (_query(words), number),
    ).fetchone()
    return () if found is None else _pieces(found[0])


def _looked(
    connection: sqlite3.Connection, words: Sequence[str], folder: str | None, *, limit: int = -1
) -> Iterator[tuple[tuple[str, str, Role, int], str]]:
    """Look through every text, newest first: yield messages that have all words, and their text."""
    wanted = _patterns(words)
    rows = connection.execute(
        "SELECT m.id, m.session, m.role, m.created, m.raw FROM messages m JOIN sessions s ON s.id = m.session"  # noqa: S608
        f" WHERE {_SYSTEM.format(at=1)} ORDER BY m.number DESC",
        (folder,),
    )
    for message, session, role, created, raw in rows:
        if limit == 0:
            return
        folded = fold(content := _content(raw))
        if all(pattern.search(folded) for pattern in wanted):
            limit -= 1
            yield (message, session, role, created), content


def _number(connection: sqlite3.Connection, message: str) -> int:
    return int(connection.execute("SELECT number FROM messages WHERE id = ?", (message,)).fetchone()[0])


def _content(raw: str) -> str:
    try:
        return str(json.loads(raw)["content"])
    except (KeyError, TypeError, ValueError):
        return ""  # a search goes on where one message is damaged


def _around(content: str, words: Sequence[str]) -> Pieces:
    """Return the text around the first word that stands in it, with every word marked."""
    folded, places = _mapped(content)
    spans = sorted(each.span() for pattern in _patterns(words) for each in pattern.finditer(folded))
    if not spans:
        return ()
    begin = max(0, places[spans[0][0]] - _BEFORE)
    end = min(len(content), places[spans[0][0]] + _AFTER)
    pieces: list[tuple[str, bool]] = [("…" if begin else "", False)]
    at = begin
    for first, last in spans:
        start, stop = places[first], places[last - 1] + 1
        if at <= start and stop <= end:
            pieces += [(content[at:start], False), (content[start:stop], True)]
            at = stop
    pieces += [(content[at:end], False), ("…" if end < len(content) else "", False)]
    return tuple(piece for piece in pieces if piece[0])


def _mapped(content: str) -> tuple[str, list[int]]:
    """Return text as it is compared, and where each of its characters stood."""
    parts = [fold(each) for each in content]
    return "".join(parts), [at for at, part in enumerate(parts) for _ in part]


def _pieces(marked: str) -> Pieces:
    parts = re.split(f"({_ON}[^{_OFF}]*{_OFF})", marked)
    return tuple((each.strip(_ON + _OFF), each.startswith(_ON)) for each in parts if each.strip(_ON + _OFF))


def _bracketed(pieces: Pieces) -> str:
    return "".join(f"[{text}]" if found else text for text, found in pieces)
