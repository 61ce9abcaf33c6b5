"""The index read row by row, in pages, and its sums put right: what only ``cache verify`` and ``cache prune`` ask.

Invariant: memory stays flat however many rows there are, and no read transaction outlives a page, so that writers and
their log never wait for a reader.
"""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

import sqlite3

from skippy_chat.checkpoints.index import NODE_COLUMNS, Index, node_of
from skippy_chat.checkpoints.types import Node

_COUNTS = """(SELECT (SELECT COUNT(*) FROM nodes c WHERE c.parent = n.id),
    (SELECT COUNT(*) FROM blobs b WHERE b.node = n.id AND b.kind > 0))"""

_UPWARDS = """SELECT id, parent, used, (SELECT IFNULL(SUM(bytes), 0) FROM blobs b WHERE b.node = n.id)
    FROM nodes n WHERE id < ? ORDER BY id DESC LIMIT ?"""

PAGE = 256


class Audit(Index):
    """An index as those see it who look at all of it."""

    def segments_after(self, segment: int, limit: int) -> list[tuple[int, str]]:
        """(row id, name) of the next ``limit`` segments behind a row id."""
        return self._db.execute(
            "SELECT id, name FROM segments WHERE id > ? ORDER BY id LIMIT ?", (segment, limit)
        ).fetchall()

    def nodes_after(self, node: int, limit: int) -> list[tuple[Node, bytes]]:
        """The next ``limit`` nodes behind a row id, with their ids; parents come before their children."""
        query = f"SELECT {NODE_COLUMNS}, n.ids FROM nodes n WHERE n.id > ? ORDER BY n.id LIMIT ?"
        return [(node_of(row), row[9]) for row in self._db.execute(query, (node, limit))]

    def miscounted(self, first: int, last: int) -> list[int]:
        """Nodes between two row ids, inclusive, whose count of children or of states and logits is wrong."""
        rows = self._db.execute(
            f"SELECT id FROM nodes n WHERE id BETWEEN ? AND ? AND (children, captures) <> {_COUNTS}",
            (first, last),
        )
        return [row[0] for row in rows]

    def recount(self, node: int) -> None:
        """Put a node's counts right."""
        self._db.execute(f"UPDATE nodes AS n SET (children, captures) = {_COUNTS} WHERE id = ?", (node,))

    def weights(self, segment: int) -> tuple[int, int, int, int] | None:
        """A segment's (allocated, payload, live) bytes as kept, and its live bytes as counted from its blobs."""
        row: tuple[int, int, int, int] | None = self._db.execute(
            "SELECT allocated, payload, live, (SELECT COALESCE(SUM(bytes), 0) FROM blobs WHERE segment = s.id)"
            " FROM segments s WHERE id = ?",
            (segment,),
        ).fetchone()
        return row

    def reweigh(self, segment: int, allocated: int, payload: int) -> None:
        """Put a segment's sums right; ``live`` is counted from its blobs."""
        self._db.execute(
            "UPDATE segments SET allocated = ?, payload = ?,"
            " live = (SELECT COALESCE(SUM(bytes), 0) FROM blobs WHERE segment = ?) WHERE id = ?",
            (allocated, payload, segment, segment),
        )

    def unused(self, since: float) -> tuple[int, int]:
        """Count the nodes not used ``since`` (seconds), nor anything below them, and the bytes of their blobs."""
        kept: set[int] = set()
        count = size = 0
        last = 1 << 62
        while page := self._db.execute(_UPWARDS, (last, 16 * PAGE)).fetchall():
            for node, parent, used, weight in page:  # children come before their parents
                if node in kept or used >= since:
                    kept.discard(node)
                    kept.add(parent)
                else:
                    count += 1
                    size += weight
            last = page[-1][0]
        return count, size

    def leaves_before(self, since: float, limit: int) -> list[int]:
        """Nodes without children that were not used ``since``, the least recently used first."""
        rows = self._db.execute(
            "SELECT id FROM nodes WHERE children = 0 AND used < ? ORDER BY used, id LIMIT ?", (since, limit)
        )
        return [row[0] for row in rows]

    def alone(self) -> bool:
        """Whether nobody else has the index open; without its log, it is for removing only then."""
        self._db.execute("PRAGMA busy_timeout = 0")
        try:
            return bool(self._db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete")
        except sqlite3.OperationalError:
            return False

    def missummed(self) -> bool:
        """Whether the sum of all files' bytes is wrong."""
        return self.allocated() != self._count("SELECT TOTAL(allocated) FROM segments")

    def resum(self) -> None:
        """Put the sum of all files' bytes right."""
        self._db.execute(
            "UPDATE sums SET allocated = (SELECT CAST(TOTAL(allocated) AS INTEGER) FROM segments)"
        )

    def disown(self, segment: int) -> None:
        """Count a segment as dead, whatever its sums say, once none of its blobs is left."""
        self._db.execute("UPDATE segments SET live = 0, payload = MAX(payload, 1) WHERE id = ?", (segment,))

    def payload(self) -> int:
        """Bytes of all blobs ever written into the files that are there."""
        return self._count("SELECT TOTAL(payload) FROM segments")

    def faults(self) -> str:
        """What SQLite finds wrong with the file's structure, reading all of it; "" when nothing."""
        found: str = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        return "" if found == "ok" else found
