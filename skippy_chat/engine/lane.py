"""A lane: one sequence of the llama context, with the edges it holds.

Invariant: a lane is either exactly at the end of its edges, all parts of the memory checked, or empty.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.types import Edge, Mode
from skippy_chat.engine.planning import PlannedEdge
from skippy_chat.errors import NativeError
from skippy_chat.native.context import Bytes, Context, DecodeAborted, MemoryClass

WITH_ATTENTION = frozenset({MemoryClass.DENSE, MemoryClass.ISWA, MemoryClass.HYBRID, MemoryClass.HYBRID_ISWA})
WITH_RECURRENCE = frozenset({MemoryClass.HYBRID, MemoryClass.RECURRENT, MemoryClass.HYBRID_ISWA})
WITH_WINDOW = frozenset({MemoryClass.ISWA, MemoryClass.HYBRID_ISWA})
BY_PARTS = WITH_ATTENTION | WITH_RECURRENCE
"""Memory classes whose state goes out and in by range and part; others only as the whole sequence."""


class Stored(Protocol):
    """What a lane is put back from: rows of consecutive token ranges from 0 on, and the state at their end."""

    @property
    def kv(self) -> Sequence[tuple[int, int, Bytes]]:
        """(p0, p1, rows) of half-open ranges in order."""

    @property
    def state(self) -> Bytes | None:
        """The state, None for a dense model."""


class Lane:
    """One conversation's place in the context."""

    def __init__(self, context: Context, sequence: int = 0) -> None:
        self._context = context
        self.sequence = sequence
        self.edges: list[PlannedEdge] = []
        self.position = 0

    @property
    def has_attention(self) -> bool:
        """Whether attention rows go out and in by token range."""
        return self._context.memory_class in WITH_ATTENTION

    @property
    def has_partial_state(self) -> bool:
        """Whether there is a state that cannot be cut at a token."""
        return self._context.memory_class not in (MemoryClass.DENSE, MemoryClass.NONE)

    def clear(self) -> None:
        """Empty the lane, both parts verified."""
        self.edges = []
        self.position = 0
        self._context.clear(self.sequence)

    def read(self, ids: array[int], planned: PlannedEdge, *, logits: bool) -> None:
        """Compute one edge: one decode call, or single steps, as its mode says.

        Raises:
            DecodeAborted: cancelled; the lane is empty then.
            NativeError: refused; the lane is empty then.
        """
        assert planned.start == self.position, "edges are read in order"
        tokens = ids[planned.start : planned.stop]
        try:
            if planned.mode is Mode.BATCH:
                self._context.decode(tokens, self.position, logits=logits, sequence=self.sequence)
            else:
                for offset, token in enumerate(tokens):
                    # Each of these had its logits computed when it was generated; the same graph must run.
                    self._context.decode([token], self.position + offset, logits=True, sequence=self.sequence)
        except (DecodeAborted, NativeError):
            self.clear()
            raise
        self.position = planned.stop
        self.edges.append(planned)

    def feed(self, token: int) -> None:
        """Read one generated token; ``grow`` names the edges it makes later.

        Raises:
            NativeError: refused; the lane is empty then.
        """
        try:
            self._context.decode([token], self.position, logits=True, sequence=self.sequence)
        except (DecodeAborted, NativeError):
            self.clear()
            raise
        self.position += 1

    def grow(self, edges: Sequence[PlannedEdge]) -> None:
        """Name the edges of the tokens that ``feed`` has read."""
        self.edges.extend(edges)

    def logits(self) -> NDArray[np.float32]:
        """Return the logits after the last token, shape (n_vocab,), as a view."""
        return self._context.logits()

    def restore(self, stored: Stored, edges: Sequence[PlannedEdge]) -> None:
        """Put the lane where a checkpoint was taken, or leave it empty.

        Raises:
            NativeError: a part was refused, or what it holds afterwards is not the checkpoint.
        """
        self.clear()
        try:
            for p0, p1, blob in stored.kv:
                self._context.append_range(blob, p0, p1, self.sequence)
            if stored.state is not None:
                self._put_state(stored.state)
            self.assume(edges)
        except NativeError:
            self.clear()
            raise

    def rewind(self, edges: Sequence[PlannedEdge], state: Bytes | None = None) -> None:
        """Go back in place to the end of ``edges``, which must be the lane's own first edges.

        ``state`` is the one at that position; a dense lane needs none, nor does one that stands there already.

        Raises:
            NativeError: this memory cannot be cut; the lane is empty then.
        """
        position = edges[-1].stop
        if position == self.position:
            return
        try:
            if state is not None:
                self._put_state(state)  # first: a recurrent part that is ahead refuses the cut
            if not self._context.truncate(position, self.sequence):
                raise NativeError(f"The model's memory cannot be cut at token {position}.")
            self.assume(edges)
        except NativeError:
            self.clear()
            raise

    def holds(self, edges: Sequence[PlannedEdge]) -> bool:
        """Return whether the lane's first edges are these."""
        return len(edges) <= len(self.edges) and all(
            mine.edge == theirs.edge for mine, theirs in zip(self.edges, edges, strict=False)
        )

    def assume(self, edges: Sequence[PlannedEdge]) -> None:
        """Take note that the memory now holds exactly ``edges``.

        Raises:
            NativeError: it does not.
        """
        position = edges[-1].stop
        self._verify(position)
        self.edges = list(edges)
        self.position = position

    def attention_rows(self, p0: int, p1: int) -> bytearray | None:
        """Return a copy of the attention rows of ``[p0, p1)``; None for a model without attention."""
        return self._context.export_range(p0, p1, self.sequence) if self.has_attention else None

    def attention_bytes(self, p0: int, p1: int) -> int:
        """Return the size of the attention rows of ``[p0, p1)``; 0 for a model without attention."""
        return self._context.range_size(p0, p1, self.sequence) if self.has_attention else 0

    def attention_row_bytes(self) -> int:
        """Return about how many bytes one token's attention rows take; 0 for a model without attention."""
        return self._context.range_size(0, 1, self.sequence) if self.has_attention and self.position else 0

    def partial_state_bytes(self) -> int:
        """Return the size of the state here; 0 for a dense model."""
        if not self.has_partial_state:
            return 0
        return self._context.state_size(self.sequence, whole=self._whole)

    def partial_state(self) -> bytearray | None:
        """Return a copy of the state here; None for a dense model."""
        if not self.has_partial_state:
            return None
        return self._context.export_state(self.sequence, whole=self._whole)

    @property
    def _whole(self) -> bool:
        """Whether this memory is known as a whole only, so that its state is the whole sequence."""
        return self._context.memory_class not in BY_PARTS

    def _put_state(self, state: Bytes) -> None:
        self._context.import_state(state, self.sequence, whole=self._whole)

    def _verify(self, position: int) -> None:
        kind = self._context.memory_class
        last = position - 1
        faults = []
        if (end := self._context.last_position(self.sequence)) != last:
            faults.append(f"the sequence ends at {end}")
        if kind in BY_PARTS:
            parts = self._context.parts(self.sequence)
            if kind in WITH_ATTENTION and (parts.attn.pos_max, parts.attn.cells) != (last, position):
                faults.append(f"attention holds {parts.attn.cells} rows up to {parts.attn.pos_max}")
            if kind in WITH_RECURRENCE and parts.recr.pos_max != last:
                faults.append(f"the recurrent state stands at {parts.recr.pos_max}")
            if kind in WITH_WINDOW and parts.swa.pos_max != last:
                faults.append(f"the window ends at {parts.swa.pos_max}")
        if faults:
            raise NativeError(f"A restore to token {position} went wrong: {', '.join(faults)}.")


class LaneTree:
    """The lane seen as a tree of one branch, so that one walk serves lane and disk."""

    def __init__(self, lane: Lane) -> None:
        self._edges = lane.edges[:]  # another thread may look while a step adds to them
        self._cuttable = not lane.has_partial_state
        # While an answer is written, the lane is past its last edge.
        self._stands = bool(self._edges) and lane.position == self._edges[-1].stop

    def child(self, parent: int | None, edge: Edge) -> int | None:
        """Return the count of matched edges if the lane's next edge is ``edge``."""
        index = parent or 0
        if index < len(self._edges) and self._edges[index].edge == edge:
            return index + 1
        return None

    def restorable(self, node: int, *, at_end: bool) -> bool:
        """A dense lane can be cut anywhere, others only be where they are; logits are not kept."""
        return not at_end and (self._cuttable or (self._stands and node == len(self._edges)))
