"""Tables of the index, and triggers that keep the sums: children of a node, live bytes of a segment, bytes on disk.

Invariant: a change here is a change of the store's format (``FORMAT`` in ``shelf``), so that a store of another version
lies beside ours and is never read as ours. Nothing that is asked in every turn may need a look at every row.
"""

# ruff: noqa: S608 - made of constants of this module only

from __future__ import annotations

from skippy_chat.checkpoints.types import ROOT

APPLICATION_ID = 0x534B4950
SCHEMA_VERSION = 3

TABLES = f"""
CREATE TABLE nodes(
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: a Node in hand can only be itself or gone
    parent INTEGER NOT NULL,               -- {ROOT} is the root
    key BLOB NOT NULL,
    mode INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    children INTEGER NOT NULL DEFAULT 0,
    captures INTEGER NOT NULL DEFAULT 0,   -- blobs beside the rows: state, logits
    used REAL NOT NULL,
    aged REAL NOT NULL,                    -- the store's clock when last used
    rank REAL NOT NULL,                    -- what goes first: worth, and the clock when last used
    ids BLOB NOT NULL,
    UNIQUE (parent, key)
);
CREATE INDEX leaves ON nodes(used, id) WHERE children = 0;
CREATE INDEX victims ON nodes(rank, id) WHERE children = 0 OR captures > 0;
CREATE TABLE segments(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    allocated INTEGER NOT NULL,
    payload INTEGER NOT NULL,
    live INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX half_dead ON segments(live, id) WHERE payload > live * 2;  -- SQLite turns "2 live < payload" round
CREATE TABLE blobs(
    node INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (node, kind)
) WITHOUT ROWID;
CREATE INDEX blobs_of_segment ON blobs(segment);
CREATE TABLE quarantine(at REAL NOT NULL, node INTEGER NOT NULL, segment TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE sums(allocated INTEGER NOT NULL);
INSERT INTO sums VALUES (0);
CREATE TABLE notes(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""

TRIGGERS = """
CREATE TRIGGER segment_added AFTER INSERT ON segments BEGIN
    UPDATE sums SET allocated = allocated + NEW.allocated;
END;
CREATE TRIGGER segment_dropped AFTER DELETE ON segments BEGIN
    UPDATE sums SET allocated = allocated - OLD.allocated;
END;
CREATE TRIGGER node_added AFTER INSERT ON nodes BEGIN
    UPDATE nodes SET children = children + 1 WHERE id = NEW.parent;
END;
CREATE TRIGGER node_dropped AFTER DELETE ON nodes BEGIN
    DELETE FROM blobs WHERE node = OLD.id;
    UPDATE nodes SET children = children - 1, used = MAX(used, OLD.used) WHERE id = OLD.parent;
    UPDATE nodes SET rank = rank + MAX(0, OLD.aged - aged), aged = MAX(aged, OLD.aged)
        WHERE id = OLD.parent AND captures = 0;
END;
CREATE TRIGGER blob_added AFTER INSERT ON blobs BEGIN
    UPDATE segments SET live = live + NEW.bytes WHERE id = NEW.segment;
    UPDATE nodes SET captures = captures + 1 WHERE id = NEW.node AND NEW.kind > 0;
END;
CREATE TRIGGER blob_dropped AFTER DELETE ON blobs BEGIN
    UPDATE segments SET live = live - OLD.bytes WHERE id = OLD.segment;
    UPDATE nodes SET captures = captures - 1 WHERE id = OLD.node AND OLD.kind > 0;
END;
CREATE TRIGGER blob_moved AFTER UPDATE OF segment ON blobs BEGIN
    UPDATE segments SET live = live - OLD.bytes WHERE id = OLD.segment;
    UPDATE segments SET live = live + NEW.bytes WHERE id = NEW.segment;
END;
"""

TRIGGER_NAMES = (
    "segment_added",
    "segment_dropped",
    "node_added",
    "node_dropped",
    "blob_added",
    "blob_dropped",
    "blob_moved",
)
