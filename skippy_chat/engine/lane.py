"""A lane: one sequence of the llama context, with the edges it holds.

Invariant: a lane is either exactly at the end of its edges, all parts of the memory checked, or empty.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.restore import Mapped
from skippy_chat.checkpoints.types import Edge, Mode
from skippy_chat.engine.planning import PlannedEdge
from skippy_chat.errors import NativeError
from skippy_chat.native.context import Context, DecodeAborted, MemoryClass

WITH_ATTENTION = frozenset({MemoryClass.DENSE, MemoryClass.ISWA, MemoryClass.HYBRID, MemoryClass.HYBRID_ISWA})
WITH_RECURRENCE = frozenset({MemoryClass.HYBRID, MemoryClass.RECURRENT, MemoryClass.HYBRID_ISWA})
WITH_WINDOW = frozenset({MemoryClass.ISWA, MemoryClass.HYBRID_ISWA})
PROVEN = WITH_ATTENTION | WITH_RECURRENCE
"""Memory classes whose state goes out and in by range and part."""


class Lane:
    """One conversation's place in the context."""

    def __init__(self, context: Context, sequence: int = 0) -> None:
        self._context = context
        self._sequence = sequence
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
        self._context.clear(self._sequence)

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
                self._context.decode(tokens, self.position, logits=logits, sequence=self._sequence)
            else:
                for offset, token in enumerate(tokens):
                    # Each of these had its logits computed when it was generated; the same graph must run.
                    self._context.decode(
                        [token], self.position + offset, logits=True, sequence=self._sequence
                    )
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
            self._context.decode([token], self.position, logits=True, sequence=self._sequence)
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

    def restore(self, mapped: Mapped, edges: Sequence[PlannedEdge]) -> None:
        """Put the lane where a checkpoint was taken, or leave it empty.

        Raises:
            NativeError: a part was refused, or what it holds afterwards is not the checkpoint.
        """
        self.clear()
        position = edges[-1].stop
        try:
            for p0, p1, blob in mapped.kv:
                self._context.append_range(blob, p0, p1, self._sequence)
            if mapped.state is not None:
                self._context.import_partial(mapped.state, self._sequence)
            self._verify(position)
        except NativeError:
            self.clear()
            raise
        self.edges = list(edges)
        self.position = position

    def rewind(self, edges: Sequence[PlannedEdge]) -> None:
        """Cut a dense lane back to the end of ``edges``, which must be its own first edges.

        Raises:
            NativeError: this memory cannot be cut; the lane is empty then.
        """
        position = edges[-1].stop
        if position == self.position:
            return
        try:
            if not self._context.truncate(position, self._sequence):
                raise NativeError(f"The model's memory cannot be cut at token {position}.")
            self._verify(position)
        except NativeError:
            self.clear()
            raise
        self.edges = list(edges)
        self.position = position

    def attention_rows(self, p0: int, p1: int) -> bytearray | None:
        """Return a copy of the attention rows of ``[p0, p1)``; None for a model without attention."""
        return self._context.export_range(p0, p1, self._sequence) if self.has_attention else None

    def attention_row_bytes(self) -> int:
        """Return about how many bytes one token's attention rows take; 0 for a model without attention."""
        return self._context.range_size(0, 1, self._sequence) if self.has_attention and self.position else 0

    def partial_state_bytes(self) -> int:
        """Return the size of the partial state here; 0 for a dense model."""
        return self._context.partial_size(self._sequence) if self.has_partial_state else 0

    def partial_state(self) -> bytearray | None:
        """Return a copy of the partial state here; None for a dense model."""
        return self._context.export_partial(self._sequence) if self.has_partial_state else None

    def _verify(self, position: int) -> None:
        kind = self._context.memory_class
        parts = self._context.parts(self._sequence)
        last = position - 1
        faults = []
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
        self._edges = lane.edges
        self._cuttable = not lane.has_partial_state

    def child(self, parent: int | None, edge: Edge) -> int | None:
        """Return the count of matched edges if the lane's next edge is ``edge``."""
        index = parent or 0
        if index < len(self._edges) and self._edges[index].edge == edge:
            return index + 1
        return None

    def restorable(self, node: int, *, at_end: bool) -> bool:
        """A dense lane can be cut anywhere, others only be where they are; logits are not kept."""
        return not at_end and (self._cuttable or node == len(self._edges))
