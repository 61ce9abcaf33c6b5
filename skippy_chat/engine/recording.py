"""What a step leaves behind: states taken at their cuts, rows taken once at the end, handed to the writer.

A state must be copied out while the lane stands at its cut; attention rows do not change any more, so they are
copied when the prompt, or the answer, is complete.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.placement import Cut, wants_state
from skippy_chat.checkpoints.recording import Pending, Recording
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Node
from skippy_chat.engine.lane import Lane
from skippy_chat.engine.planning import PlannedEdge
from skippy_chat.engine.recorder import Emit, Recorder
from skippy_chat.engine.resume import Resumed
from skippy_chat.errors import CheckpointError, NativeError
from skippy_chat.events import CheckpointFailed

PART_BYTES = 256 << 20
"""Rows that a long prompt may leave unrecorded; past that a part of it is handed over while the rest is read."""


class StepRecording:
    """Collects one step's checkpoints; without a store it does nothing.

    Invariant: nothing behind the restored position is taken again, and no failure here leaves this class.
    """

    def __init__(
        self, store: CheckpointStore | None, lane: Lane, resumed: Resumed, recorder: Recorder, emit: Emit
    ) -> None:
        self._store = None if store is None or store.read_only else store  # said once, when it was opened
        self._lane = lane
        self._known = resumed.known
        self._recorder = recorder
        self._emit = emit
        # The node at the lane's position, as far as it is stored, and behind it the edges not yet handed over.
        self._at: Node | None = None
        self._stored = True
        self._parent: Node | Pending | None = None
        self._edges: list[tuple[PlannedEdge, Node | None]] = []
        self._states: dict[int, bytearray] = {}
        self._last_state = resumed.position
        self._row_bytes = 0
        self._unwritten = 0
        for planned in resumed.edges:
            # A lane may be ahead of the disk; what is missing there is added with this step's own edges.
            self._follow(planned)
        if self._stored:
            self._parent = self._at
            self._edges.clear()

    def edge_read(self, planned: PlannedEdge) -> None:
        """Take note of an edge that the lane has just read, and of the state here if this cut wants one."""
        # Before this edge is counted in: the last one of a prompt waits for its logits.
        if self._bytes_per_token() * self._unwritten > PART_BYTES:
            self._hand_over(None)
        node = self._follow(planned)
        cut = Cut.DIVERGENCE if planned.stop == self._known else planned.cut
        if node is None or not node.has_state:
            self._take_state(planned.stop, cut)

    def grid_reached(self, position: int) -> None:
        """Take the state at a cut inside a long answer, if the spacing wants one."""
        self._take_state(position, Cut.GRID)

    def end_of_prompt(self, logits: NDArray[np.float32] | None) -> None:
        """Hand over what was read; ``logits`` are those after the last token, None when there was nothing to read."""
        self._hand_over(logits)

    def stopped_at(self, position: int) -> None:
        """Hand over what was read before a stop at a cut, with a state, so that the reading can go on from here.

        Position 0: the stop came inside a batch and the lane is empty, so there is nothing to hand over.
        """
        if position == 0:
            self._edges.clear()
            self._states.clear()
            return
        if position not in self._states and (self._at is None or not self._at.has_state):
            self._take_state(position, Cut.DIVERGENCE)
        self._hand_over(None)

    def end_of_answer(self, edges: Sequence[PlannedEdge]) -> None:
        """Hand over an answer whose ``edges`` the lane has grown by."""
        for planned in edges:
            self._follow(planned)
        if edges:
            self._take_state(edges[-1].stop, Cut.END_OF_ANSWER)
            self._hand_over(None)

    def _follow(self, planned: PlannedEdge) -> Node | None:
        """Go down one edge with the lane; return the stored node there."""
        if self._store is None:
            return None
        node = None
        if self._stored:
            try:
                node = self._store.child(self._at, planned.edge)
            except CheckpointError as error:
                self._give_up(str(error))
                return None
            if node is not None and self._lane.has_attention and not node.has_kv:
                node = None
        self._at, self._stored = node, node is not None
        self._edges.append((planned, node))
        if node is None:
            self._unwritten += planned.stop - planned.start
        return node

    def _take_state(self, position: int, cut: Cut) -> None:
        if self._store is None or not self._lane.has_partial_state:
            return
        try:
            wanted = wants_state(
                cut,
                state_bytes=self._lane.partial_state_bytes(),
                kv_bytes_per_token=self._bytes_per_token(),
                since_last_state=position - self._last_state,
            )
            state = self._lane.partial_state() if wanted else None
        except NativeError as error:
            self._give_up(str(error))
            return
        if state is not None:
            self._states[position] = state
            self._last_state = position

    def _bytes_per_token(self) -> int:
        self._row_bytes = self._row_bytes or self._lane.attention_row_bytes()
        return self._row_bytes

    def _hand_over(self, logits: NDArray[np.float32] | None) -> None:
        if self._store is None:
            return
        try:
            recording = self._store.recording()
            added = [
                self._add(recording, planned, node, logits if index == len(self._edges) else None)
                for index, (planned, node) in enumerate(self._edges, 1)
            ]
        except (CheckpointError, NativeError) as error:
            self._give_up(str(error))
            return
        self._edges.clear()
        self._unwritten = 0
        if any(added):
            self._recorder.submit(recording, self._emit)

    def _add(
        self,
        recording: Recording,
        planned: PlannedEdge,
        node: Node | None,
        logits: NDArray[np.float32] | None,
    ) -> bool:
        """Add one edge, or what a node that is stored already lacks; return whether there was anything to add."""
        state = self._states.pop(planned.stop, None)
        last = None if logits is None else logits.tobytes()
        if node is None:
            rows = self._lane.attention_rows(planned.start, planned.stop)
            self._parent = recording.add(self._parent, planned.edge, kv=rows, state=state, logits=last)
            return True
        self._parent = node
        state = None if node.has_state else state
        last = None if node.has_logits else last
        if state is None and last is None:
            return False
        recording.attach(node, state=state, logits=last)
        return True

    def _give_up(self, reason: str) -> None:
        self._store = None
        self._edges.clear()
        self._states.clear()
        self._emit(CheckpointFailed(reason=reason))
