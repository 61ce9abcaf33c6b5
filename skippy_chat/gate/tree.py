"""What a checkpoint tree must hold, worked out from replies alone: the gate's own idea of how much can be reused.

It knows the ids of every reply and the schedule they were fed by, and nothing of the engine's lookup or its store. So
an engine that claims too little, or more than was ever read, is found out.

Invariant: a position is shared only if everything before it was fed before, with the same ids in the same decode calls.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skippy_chat.engine.protocol import StepReply

GRID_TOKENS = 256
"""Canonical cuts inside a message, as the ledger's contract has them: tokens from the message's start."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of a prompt was read before, in tokens.

    ``deepest`` is the last canonical cut that it shares with anything read before. ``sure`` is the deepest of them that
    must have a state of its own by now: where a prompt or an answer ended, or where an earlier prompt already left
    the tree.
    """

    deepest: int = 0
    sure: int = 0


class Tree:
    """All cuts that were fed so far below one checkpoint folder."""

    def __init__(self) -> None:
        self._fed: set[bytes] = set()
        self._stateful: set[bytes] = set()
        self._asked: set[bytes] = set()

    def reach(self, reply: StepReply) -> Reach:
        """Return how much of the reply's prompt was read before it."""
        return self._walk(reply)[0]

    def add(self, reply: StepReply) -> None:
        """Take note of what a reply was fed, and of where its prompt left what was known."""
        left = self._walk(reply)[1]
        if left is not None:
            self._stateful.add(left)
        end = b""
        for position, key in cuts(reply.ids, reply.schedule):
            self._fed.add(key)
            end = key
            if position == reply.prompt_tokens:
                self._asked.add(key)
                self._stateful.add(key)
        if end:
            self._stateful.add(end)

    def _walk(self, reply: StepReply) -> tuple[Reach, bytes | None]:
        deepest = sure = 0
        left: bytes | None = None
        for position, key in cuts(reply.ids, reply.schedule):
            if position > reply.prompt_tokens or key not in self._fed:
                break
            if position == reply.prompt_tokens and key not in self._asked:
                break  # logits are kept only where a prompt ended
            deepest, left = position, key
            if key in self._stateful:
                sure = position
        return Reach(deepest, sure), left


def cuts(ids: array[int], schedule: Sequence[tuple[int, bool]]) -> Iterator[tuple[int, bytes]]:
    """Yield every canonical cut as (position, digest of all that was fed before it and how)."""
    key = b""
    position = 0
    for tokens, single in schedule:
        stop = position + tokens
        while position < stop:
            end = min(position + GRID_TOKENS, stop)
            hasher = hashlib.blake2b(key, digest_size=20, key=b"single" if single else b"batch")
            hasher.update(ids[position:end].tobytes())
            key = hasher.digest()
            position = end
            yield position, key
