"""Giving back the checkpoints of prompts that nobody will ask again: those of conversations that were removed.

Invariant: what a prompt that stays leads over is not touched, so that removing one conversation costs no other one any
time. What is taken is taken as eviction does it: whoever reads it just now has a miss.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from skippy_chat.checkpoints.index import Index
from skippy_chat.checkpoints.prune import opened
from skippy_chat.checkpoints.shelf import Shelf, remove
from skippy_chat.checkpoints.types import ROOT
from skippy_chat.checkpoints.versions import weigh
from skippy_chat.checkpoints.writer import WriterLock

_AT_ONCE = 64
"""Subtrees in one transaction: few, since its log takes room too."""


def release(root: Path, identity: str, gone: Iterable[bytes], kept: Iterable[bytes]) -> int:
    """Drop what only the prompts in ``gone`` lead over, and return the bytes that this freed.

    Prompts are packed token ids (int32, little-endian) from position 0; ``identity`` is the model's digest.

    Raises:
        RecordingStopped: another process writes for longer than is waited for, or the folder cannot be written.
    """
    shelf = Shelf.of(root, identity)
    if not shelf.home.exists():
        return 0
    before = weigh(shelf.home)
    with opened(shelf) as index:
        if index is None:
            return 0
        parents: dict[int, int] = {}
        for ids in gone:
            parents |= _walked(index, ids)
        if not parents:
            return 0
        stays = {ROOT}
        for ids in kept:
            stays |= _walked(index, ids).keys()
        # Of what goes only the tops: all that hangs below one goes with it.
        tops = [node for node, parent in parents.items() if node not in stays and parent in stays]
        lock = WriterLock(root)
        for at in range(0, len(tops), _AT_ONCE):
            with lock.hold():
                with index.transaction():
                    for node in tops[at : at + _AT_ONCE]:
                        index.drop_below(node)
                    dead = index.drop_dead_segments()
                for name in dead:
                    remove(shelf.path(name))
                index.shrink()
    return max(0, before - weigh(shelf.home))


def _walked(index: Index, ids: bytes) -> dict[int, int]:
    """Return the nodes that a prompt leads over, each with its parent."""
    found: dict[int, int] = {}
    places = [(ROOT, 0)]
    while places:
        parent, at = places.pop()
        for node, edge in index.edges(parent):
            if ids.startswith(edge, at):
                found[node] = parent
                places.append((node, at + len(edge)))
    return found
