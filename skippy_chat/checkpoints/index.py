"""The SQLite index of one identity's store: one connection, plain queries, triggers that keep the sums.

Invariant: an index shows only what is durable on disk, and changes only in whole transactions by whoever holds the
writer lock; readers on other connections never wait for it.
"""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from skippy_chat.checkpoints.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, TRIGGER_NAMES, TRIGGERS
from skippy_chat.checkpoints.types import ROOT, Kind, Mode, Node
from skippy_chat.checkpoints.worth import Spot

BUSY_SECONDS = 5.0
MOMENT = 1e-6  # what a use puts the clock on by, so that of two equals the one used later stays
SYNCHRONOUS = "FULL"  # a row that is shown survives a power cut, as its segment does

NODE_COLUMNS = """n.id, n.parent, n.position, n.tokens, n.mode, n.key,
    (SELECT bytes FROM blobs WHERE node = n.id AND kind = 0),
    (SELECT bytes FROM blobs WHERE node = n.id AND kind = 1),
    (SELECT bytes FROM blobs WHERE node = n.id AND kind = 2)"""

CHILD = f"SELECT {NODE_COLUMNS}, n.ids FROM nodes n WHERE n.parent = ? AND n.key = ?"
CHILDREN = f"SELECT {NODE_COLUMNS}, n.ids FROM nodes n WHERE n.parent = ? ORDER BY n.id"
OLDEST_LEAVES = "SELECT id, used FROM nodes WHERE children = 0 ORDER BY used, id"
DEAD = "SELECT id, name FROM segments WHERE payload > live * 2 AND live <= 0"
HALF_DEAD = "SELECT id, name, live FROM segments WHERE payload > live * 2 ORDER BY live, id"
VICTIMS = "SELECT id, rank FROM nodes WHERE children = 0 OR captures > 0 ORDER BY rank, id"
_LINEAGE = f"""WITH RECURSIVE up(id) AS (
    SELECT ?1 UNION SELECT p.parent FROM nodes p JOIN up ON p.id = up.id WHERE p.parent <> {ROOT})
    SELECT {NODE_COLUMNS}, n.ids FROM up JOIN nodes n ON n.id = up.id"""
_SPOT_COLUMNS = """n.id, n.parent, n.position, n.tokens, n.children, n.aged, n.rank,
    IFNULL((SELECT bytes FROM blobs WHERE node = n.id AND kind = 0), 0),
    IFNULL((SELECT bytes FROM blobs WHERE node = n.id AND kind = 1), 0),
    IFNULL((SELECT bytes FROM blobs WHERE node = n.id AND kind = 2), 0)"""
_SPOT = f"SELECT {_SPOT_COLUMNS} FROM nodes n WHERE n.id = ?"
_SPINE = f"""WITH RECURSIVE up(id) AS (
    SELECT ?1 UNION SELECT p.parent FROM nodes p JOIN up ON p.id = up.id WHERE p.parent <> {ROOT})
    SELECT {_SPOT_COLUMNS} FROM up JOIN nodes n ON n.id = up.id ORDER BY n.position"""
_BELOW = """WITH RECURSIVE down(id) AS (SELECT ?1 UNION SELECT c.id FROM nodes c JOIN down ON c.parent = down.id)
    SELECT id FROM down"""


Access: TypeAlias = Literal["rwc", "ro", "frozen"]
_ACCESS: dict[Access, str] = {"rwc": "mode=rwc", "ro": "mode=ro", "frozen": "mode=ro&immutable=1"}


@dataclass(frozen=True, slots=True)
class BlobAt:
    """Where a blob is: a segment's row id and name, offset and size within its file."""

    segment: int
    name: str
    offset: int
    size: int


class _Connection(sqlite3.Connection):
    """Tells a garbled schema as what it is: SQLite quotes it in its message, which is then no text any more."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """As the base class does, with one kind of error."""
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError("the schema of the index is unreadable") from error


def _text(raw: bytes) -> str:
    """Decode whatever a damaged row holds: a wrong name is found out by what it names."""
    return raw.decode("utf-8", "replace")


class Index:
    """One connection to an index; not for two threads at once.

    ``access``: "ro" reads beside writers, "frozen" needs no file of its own but only reads what nobody writes.
    """

    def __init__(self, path: Path, *, access: Access = "rwc") -> None:
        self._db = sqlite3.connect(
            f"{path.absolute().as_uri()}?{_ACCESS[access]}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=64,
            factory=_Connection,
        )
        self._db.text_factory = _text
        self._db.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        self._db.execute("PRAGMA temp_store = MEMORY")

    def create(self, root_key: bytes) -> None:
        """Create the schema in an empty file, for one identity; the writer lock must be held."""
        self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._db.execute("PRAGMA journal_mode = WAL")
        whose = f"INSERT INTO notes VALUES ('root', '{root_key.hex()}');"
        self._db.executescript("BEGIN IMMEDIATE;" + TABLES + TRIGGERS + whose + "COMMIT;")

    def is_empty(self) -> bool:
        """Whether the file holds no schema yet."""
        return self._pragma("schema_version") == 0

    def check(self, root_key: bytes) -> None:
        """Read a little of everything.

        Raises:
            sqlite3.DatabaseError: not a database, or not this identity's index.
        """
        if self._pragma("application_id") != APPLICATION_ID or self._pragma("user_version") != SCHEMA_VERSION:
            raise sqlite3.DatabaseError("not a checkpoint index of this version")
        for table in ("nodes", "segments", "blobs", "quarantine", "sums", "notes"):
            self._db.execute(f"SELECT * FROM {table} LIMIT 1").fetchall()
        if self.note("root") != root_key.hex():
            raise sqlite3.DatabaseError("the index of another store")

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    @contextlib.contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[None]:
        """Run the block in one transaction; any exception undoes it."""
        self._db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def child(self, parent: int, key: bytes) -> tuple[Node, bytes] | None:
        """The node of that key below ``parent``, with its ids."""
        row = self._db.execute(CHILD, (parent, key)).fetchone()
        return None if row is None else (node_of(row), row[9])

    def children(self, parent: int) -> list[tuple[Node, bytes]]:
        """All nodes below ``parent``, each with its ids, oldest first."""
        return [(node_of(row), row[9]) for row in self._db.execute(CHILDREN, (parent,))]

    def edges(self, parent: int) -> list[tuple[int, bytes]]:
        """The ids of all edges below ``parent``, each with the id of the node it leads to."""
        return self._db.execute("SELECT id, ids FROM nodes WHERE parent = ?", (parent,)).fetchall()

    def lineage(self, node: int) -> list[tuple[Node, bytes]]:
        """The nodes from the root to ``node``, with ids; empty when it is gone, cut short by a broken link."""
        rows = {row[0]: row for row in self._db.execute(_LINEAGE, (node,))}
        line = []
        at = node
        while (row := rows.pop(at, None)) is not None:
            line.append((node_of(row), row[9]))
            at = row[1]
        return line[::-1]

    def blob(self, node: int, kind: Kind) -> BlobAt | None:
        """Where a node's blob is."""
        row = self._db.execute(
            "SELECT b.segment, s.name, b.offset, b.bytes FROM blobs b JOIN segments s ON s.id = b.segment"
            " WHERE b.node = ? AND b.kind = ?",
            (node, kind),
        ).fetchone()
        return None if row is None else BlobAt(*row)

    def segment(self, name: str) -> int | None:
        """Row id of the segment of that name."""
        row = self._db.execute("SELECT id FROM segments WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def add_segment(self, name: str, allocated: int, payload: int) -> int:
        """Insert a segment and return its row id."""
        return self._insert(
            "INSERT INTO segments(name, allocated, payload) VALUES (?, ?, ?)", (name, allocated, payload)
        )

    def add_node(
        self,
        parent: int,
        key: bytes,
        mode: Mode,
        position: int,
        used: float,
        ids: bytes,
        *,
        aged: float = 0.0,
        rank: float = 0.0,
    ) -> int:
        """Insert a node and return its row id."""
        return self._insert(
            "INSERT INTO nodes(parent, key, mode, position, tokens, used, aged, rank, ids)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (parent, key, mode, position, len(ids) // 4, used, aged, rank, ids),
        )

    def add_blob(self, node: int, kind: Kind, segment: int, offset: int, size: int) -> None:
        """Insert a blob."""
        self._db.execute("INSERT INTO blobs VALUES (?, ?, ?, ?, ?)", (node, kind, segment, offset, size))

    def move_blob(self, node: int, kind: Kind, segment: int, offset: int) -> None:
        """Point a blob at its copy in another segment."""
        self._db.execute(
            "UPDATE blobs SET segment = ?, offset = ? WHERE node = ? AND kind = ?",
            (segment, offset, node, kind),
        )

    def touch(self, used: dict[int, float]) -> None:
        """Note when nodes were last used."""
        clock = self.clock() + MOMENT
        self.set_clock(clock)
        self._db.executemany(
            "UPDATE nodes SET used = MAX(used, ?1), rank = rank + MAX(0, ?2 - aged), aged = MAX(aged, ?2)"
            " WHERE id = ?3",
            [(at, clock, node) for node, at in used.items()],
        )

    def clock(self) -> float:
        """How far the store's clock is: it goes on with the bytes written."""
        return float(self.note("clock") or 0)

    def set_clock(self, clock: float) -> None:
        """Put the clock on."""
        self.write_note("clock", repr(clock))

    def drop_leaf(self, node: int) -> None:
        """Delete one node without children, with its blobs."""
        self._db.execute("DELETE FROM nodes WHERE id = ? AND children = 0", (node,))

    def drop_below(self, node: int) -> int:
        """Delete a node and all below it; returns how many went."""
        doomed = [row[0] for row in self._db.execute(_BELOW, (node,))]
        for each in reversed(doomed):
            self._db.execute("DELETE FROM nodes WHERE id = ?", (each,))
        return len(doomed)

    def drop_blob(self, node: int, kind: Kind) -> None:
        """Delete one blob."""
        self._db.execute("DELETE FROM blobs WHERE node = ? AND kind = ?", (node, kind))

    def drop_damaged(self, node: int, kind: Kind) -> None:
        """Delete a blob and what cannot be used without it: below lost KV rows, everything."""
        if kind is Kind.KV:
            self.drop_below(node)
        else:
            self.drop_blob(node, kind)

    def drop_dead_segments(self) -> list[str]:
        """Delete segments in which nothing is live and return their names, to be unlinked after the commit."""
        rows = self._db.execute(DEAD).fetchall()
        self._db.executemany("DELETE FROM segments WHERE id = ?", [(row[0],) for row in rows])
        return [row[1] for row in rows]

    def drop_everything(self) -> list[str]:
        """Delete every row but notes and return the names of all segments; not row by row through triggers."""
        names = [row[0] for row in self._db.execute("SELECT name FROM segments")]
        for trigger in TRIGGER_NAMES:
            self._db.execute(f"DROP TRIGGER {trigger}")
        for table in ("blobs", "nodes", "segments", "quarantine"):
            self._db.execute(f"DELETE FROM {table}")
        self._db.execute("UPDATE sums SET allocated = 0")
        for statement in TRIGGERS.split("\nEND;\n")[:-1]:
            self._db.execute(statement + "\nEND")
        return names

    def oldest_leaves(self) -> sqlite3.Cursor:
        """Cursor over (id, last use) of nodes without children, least recently used first; close it."""
        return self._db.execute(OLDEST_LEAVES)

    def victims(self) -> sqlite3.Cursor:
        """Cursor over (id, rank) of what may go, leaves and states, lowest rank first; close it."""
        return self._db.execute(VICTIMS)

    def spot(self, node: int) -> Spot | None:
        """A node as eviction sees it."""
        row = self._db.execute(_SPOT, (node,)).fetchone()
        return None if row is None else Spot(*row)

    def spine(self, node: int) -> list[Spot]:
        """The nodes from the root to ``node``, root first, as eviction sees them."""
        return [Spot(*row) for row in self._db.execute(_SPINE, (node,))]

    def set_rank(self, node: int, rank: float) -> None:
        """Rank a node anew."""
        self._db.execute("UPDATE nodes SET rank = ? WHERE id = ?", (rank, node))

    def half_dead(self) -> list[tuple[int, str, int]]:
        """Segments less than half alive: (row id, name, live bytes), the emptiest first."""
        return self._db.execute(HALF_DEAD).fetchall()

    def blobs_of(self, segment: int) -> list[tuple[Node, bytes, bytes, Kind, BlobAt]]:
        """Live blobs of a segment: (node, parent key or b"" below the root, ids, kind, place), in file order."""
        rows = self._db.execute(
            f"SELECT {NODE_COLUMNS}, n.ids, p.key, b.kind, s.id, s.name, b.offset, b.bytes"
            " FROM blobs b JOIN nodes n ON n.id = b.node JOIN segments s ON s.id = b.segment"
            " LEFT JOIN nodes p ON p.id = n.parent WHERE b.segment = ? ORDER BY b.offset",
            (segment,),
        )
        return [(node_of(r[:10]), r[10] or b"", r[9], Kind(r[11]), BlobAt(*r[12:])) for r in rows]

    def blob_rows(self, segment: int) -> list[tuple[int, Kind]]:
        """(node, kind) of every live blob of a segment."""
        rows = self._db.execute("SELECT node, kind FROM blobs WHERE segment = ?", (segment,))
        return [(row[0], Kind(row[1])) for row in rows]

    def names_in(self, shard: str) -> set[str]:
        """Names of the segments that begin with these hex digits."""
        rows = self._db.execute(
            "SELECT name FROM segments WHERE name >= ? AND name < ?", (shard, shard + "g")
        )
        return {row[0] for row in rows}

    def node(self, node: int) -> tuple[Node, bytes] | None:
        """A node by row id, with its ids."""
        row = self._db.execute(
            f"SELECT {NODE_COLUMNS}, n.ids FROM nodes n WHERE n.id = ?", (node,)
        ).fetchone()
        return None if row is None else (node_of(row), row[9])

    def allocated(self) -> int:
        """Bytes allocated on disk by all segment files."""
        return self._count("SELECT allocated FROM sums")

    def totals(self) -> dict[str, int]:
        """Counts and sums for the statistics."""
        kinds = dict(
            self._db.execute("SELECT kind, COUNT(*) FROM blobs WHERE kind > 0 GROUP BY kind").fetchall()
        )
        return {
            "nodes": self._count("SELECT COUNT(*) FROM nodes"),
            "states": kinds.get(Kind.STATE, 0),
            "logits": kinds.get(Kind.LOGITS, 0),
            "segments": self._count("SELECT COUNT(*) FROM segments"),
            "payload": self._count("SELECT TOTAL(payload) FROM segments"),
            "live": self._count("SELECT TOTAL(live) FROM segments"),
            "quarantined": self._count("SELECT COUNT(*) FROM quarantine"),
        }

    def last_used(self) -> float | None:
        """When any node was last used."""
        row = self._db.execute("SELECT MAX(used) FROM nodes").fetchone()
        return None if row[0] is None else float(row[0])

    def set_aside(self, at: float, node: int, segment: str, reason: str) -> None:
        """Note damage, for the statistics."""
        self._db.execute("INSERT INTO quarantine VALUES (?, ?, ?, ?)", (at, node, segment, reason))

    def last_quarantine(self) -> str | None:
        """Reason of the newest damage noted."""
        row = self._db.execute("SELECT reason FROM quarantine ORDER BY rowid DESC LIMIT 1").fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str) -> str | None:
        """Read a note."""
        row = self._db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def write_note(self, name: str, value: str) -> None:
        """Write a note."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def shrink(self) -> None:
        """Give free pages and the write-ahead log back to the disk, as far as readers let it."""
        self._db.executescript(
            "PRAGMA incremental_vacuum;"
        )  # one step per page, which execute would not take
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _count(self, sql: str) -> int:
        return int(self._db.execute(sql).fetchone()[0])

    def _insert(self, sql: str, values: tuple[object, ...]) -> int:
        row = self._db.execute(sql, values).lastrowid
        assert row is not None
        return row

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])


def node_of(row: tuple[int, int, int, int, int, bytes, int | None, int | None, int | None, bytes]) -> Node:
    """Read a row of ``NODE_COLUMNS`` and ids."""
    node, parent, position, tokens, mode, key, kv, state, logits, _ = row
    return Node(
        id=node,
        parent=None if parent == ROOT else parent,
        position=position,
        tokens=tokens,
        mode=Mode.SINGLE if mode else Mode.BATCH,  # an edited row fails by its key, not here
        has_kv=kv is not None,
        has_state=state is not None,
        has_logits=logits is not None,
        kv_bytes=kv or 0,
        state_bytes=state or 0,
        key=key,
    )
