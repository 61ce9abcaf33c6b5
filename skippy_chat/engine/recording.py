"""What a step leaves behind: states taken at their cuts, rows taken once at the end, handed to the writer.

A state must be copied out while the lane stands at its cut; attention rows do not change any more, so they are
copied when the prompt, or the answer, is complete.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.placement import Cut, wants_state
from skippy_chat.checkpoints.recording import Pending
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Node
from skippy_chat.engine.lane import Lane
from skippy_chat.engine.planning import PlannedEdge
from skippy_chat.engine.recorder import Emit, Recorder
from skippy_chat.engine.resume import Resumed
from skippy_chat.errors import CheckpointError, NativeError
from skippy_chat.events import CheckpointFailed


class StepRecording:
    """Collects one step's checkpoints; without a store it does nothing.

    Invariant: nothing behind the restored position is taken again, and no failure here leaves this class.
    """

    def __init__(
        self, store: CheckpointStore | None, lane: Lane, resumed: Resumed, recorder: Recorder, emit: Emit
    ) -> None:
        self._store = store
        self._lane = lane
        self._known = resumed.known
        self._recorder = recorder
        self._emit = emit
        self._parent: Node | Pending | None = None
        self._states: dict[int, bytearray] = {}
        self._last_state = resumed.position
        self._row_bytes = 0
        if store is not None:
            self._find_parent(resumed.edges)

    @property
    def active(self) -> bool:
        """Whether anything is recorded."""
        return self._store is not None

    def reached(self, position: int, cut: Cut) -> None:
        """Take the partial state here if this cut wants one; the lane stands at ``position``."""
        if self._store is None or not self._lane.has_partial_state:
            return
        if position == self._known:
            cut = Cut.DIVERGENCE
        wanted = wants_state(
            cut,
            state_bytes=self._lane.partial_state_bytes(),
            kv_bytes_per_token=self._row_bytes,
            since_last_state=position - self._last_state,
        )
        if not wanted:
            return
        try:
            state = self._lane.partial_state()
        except NativeError as error:
            self._give_up(str(error))
            return
        if state is not None:
            self._states[position] = state
            self._last_state = position

    def commit(self, edges: Sequence[PlannedEdge], logits: NDArray[np.float32] | None = None) -> None:
        """Hand over ``edges``, which follow what is recorded so far; ``logits`` are those after the last one."""
        if self._store is None:
            return
        try:
            self._commit(self._store, edges, logits)
        except (CheckpointError, NativeError) as error:
            self._give_up(str(error))

    def _commit(
        self, store: CheckpointStore, edges: Sequence[PlannedEdge], logits: NDArray[np.float32] | None
    ) -> None:
        recording = store.recording()
        anything = False
        for index, planned in enumerate(edges):
            state = self._states.pop(planned.stop, None)
            last = logits.tobytes() if logits is not None and index == len(edges) - 1 else None
            known = None if isinstance(self._parent, Pending) else store.child(self._parent, planned.edge)
            if known is not None and (known.has_kv or not self._lane.has_attention):
                missing_state = state if not known.has_state else None
                missing_logits = last if not known.has_logits else None
                if missing_state is not None or missing_logits is not None:
                    recording.attach(known, state=missing_state, logits=missing_logits)
                    anything = True
                self._parent = known
                continue
            rows = self._lane.attention_rows(planned.start, planned.stop)
            if rows is not None:
                self._row_bytes = len(rows) // max(planned.stop - planned.start, 1)
            self._parent = recording.add(self._parent, planned.edge, kv=rows, state=state, logits=last)
            anything = True
        if anything:
            self._recorder.submit(recording, self._emit)

    def _find_parent(self, edges: Sequence[PlannedEdge]) -> None:
        """Find the node where the lane stands; a lane may be ahead of the disk, then what is missing is added."""
        assert self._store is not None
        try:
            for index, planned in enumerate(edges):
                node = (
                    None
                    if isinstance(self._parent, Pending)
                    else self._store.child(self._parent, planned.edge)
                )
                if node is None or (self._lane.has_attention and not node.has_kv):
                    self._commit(self._store, edges[index:], None)
                    return
                self._parent = node
        except (CheckpointError, NativeError) as error:
            self._give_up(str(error))

    def _give_up(self, reason: str) -> None:
        self._store = None
        self._states.clear()
        self._emit(CheckpointFailed(reason=reason))
