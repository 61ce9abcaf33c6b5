"""What a step leaves behind: states taken at their cuts, rows taken once at the end, handed to the writer.

A state must be copied out while the lane stands at its cut; attention rows do not change any more, so they are
copied when the prompt, or the answer, is complete. Copying is all that a token ever waits for: digests are computed
and files written behind it, and memory for a copy is asked for before it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.placement import Costs, Cut, place, wanted_in_answer
from skippy_chat.checkpoints.recording import Recording
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Kind, Node
from skippy_chat.engine.known import Known, KnownTree, has
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
        self._tree = None if self._store is None else KnownTree(self._store, recorder)
        self._lane = lane
        self._resumed = resumed
        self._recorder = recorder
        self._emit = emit
        # The node at the lane's position, as far as it is known, and behind it the edges not yet handed over.
        self._at: Known | None = None
        self._stored = True
        self._parent: Known | None = None
        self._edges: list[tuple[PlannedEdge, Known | None]] = []
        self._cuts: list[tuple[int, Cut]] = []
        self._costs = Costs(0, 0, 0)
        self._chosen: frozenset[int] = frozenset()
        self._states: dict[int, bytearray] = {}
        self._last_state = resumed.position
        self._row_bytes = 0
        self._unwritten = 0
        self._reserved = 0
        self._full = False
        for planned in resumed.edges:
            # A lane may be ahead of the disk; what is missing there is added with this step's own edges.
            self._follow(planned)
        if self._stored:
            self._parent = self._at
            self._edges.clear()

    def reading(self, edges: Sequence[PlannedEdge]) -> None:
        """Be told which edges are about to be read: where states are taken depends on all of them."""
        self._cuts = [(planned.stop, planned.cut) for planned in edges]

    def edge_read(self, planned: PlannedEdge) -> None:
        """Take note of an edge that the lane has just read, and of the state here if this cut wants one."""
        # Before this edge is counted in: the last one of a prompt waits for its logits.
        if self._bytes_per_token() * self._unwritten > PART_BYTES:
            self._hand_over(None)
        node = self._follow(planned)
        if self._store is None or not self._lane.has_partial_state:
            return
        if planned.stop in self._places() and not (node is not None and has(node, Kind.STATE)):
            self._take_state(planned.stop)

    def grid_reached(self, position: int) -> None:
        """Take the state at a cut inside a long answer, if the spacing wants one."""
        if self._store is None or not self._lane.has_partial_state:
            return
        self._places()
        if wanted_in_answer(self._costs, position - self._last_state):
            self._take_state(position)

    def end_of_prompt(self, logits: NDArray[np.float32] | None) -> None:
        """Hand over what was read; ``logits`` are those after the last token, None when there was nothing to read."""
        self._hand_over(logits)

    def stopped_at(self, position: int) -> None:
        """Hand over what was read before a stop at a cut, with a state, so that the reading can go on from here.

        Position 0: the stop came inside a batch and the lane is empty, so there is nothing to hand over.
        """
        if position == 0:
            self._drop()
            return
        if position not in self._states and (self._at is None or not has(self._at, Kind.STATE)):
            self._take_state(position)
        self._hand_over(None)

    def end_of_answer(self, edges: Sequence[PlannedEdge]) -> None:
        """Hand over an answer whose ``edges`` the lane has grown by."""
        for planned in edges:
            self._follow(planned)
        if edges:
            self._take_state(edges[-1].stop)
            self._hand_over(None)

    def close(self) -> None:
        """Let go of what a step that failed has not handed over; idempotent."""
        self._drop()

    def _follow(self, planned: PlannedEdge) -> Known | None:
        """Go down one edge with the lane; return the known node there."""
        if self._tree is None:
            return None
        node = None
        if self._stored:
            try:
                node = self._tree.child(self._at, planned.edge)
            except CheckpointError as error:
                self._give_up(str(error))
                return None
            if node is not None and self._lane.has_attention and not has(node, Kind.KV):
                node = None
        self._at, self._stored = node, node is not None
        self._edges.append((planned, node))
        if node is None:
            self._unwritten += planned.stop - planned.start
        return node

    def _places(self) -> frozenset[int]:
        """Positions at which states are wanted; worked out anew when a state has come to weigh something else."""
        assert self._store is not None
        try:
            costs = Costs(self._lane.partial_state_bytes(), self._bytes_per_token(), self._store.budget_bytes)
        except NativeError as error:
            self._give_up(str(error))
            return frozenset()
        if costs != self._costs:
            self._costs = costs
            self._chosen = place(
                self._cuts, costs, above=self._resumed.position, diverged=self._resumed.known
            )
        return self._chosen

    def _take_state(self, position: int) -> None:
        if self._store is None or not self._lane.has_partial_state:
            return
        try:
            if not self._reserve(self._lane.partial_state_bytes()):
                return
            state = self._lane.partial_state()
        except NativeError as error:
            self._give_up(str(error))
            return
        if state is not None:
            self._states[position] = state
            self._last_state = position

    def _reserve(self, size: int) -> bool:
        """Ask for memory; the first refusal in a step is told."""
        if self._recorder.reserve(size):
            self._reserved += size
            return True
        if not self._full:
            self._full = True
            waiting = self._recorder.held >> 20
            self._emit(
                CheckpointFailed(
                    reason=f"The disk is behind: {waiting} MiB of checkpoints wait to be written;"
                    " what finds no room in memory is not kept."
                )
            )
        return False

    def _bytes_per_token(self) -> int:
        self._row_bytes = self._row_bytes or self._lane.attention_row_bytes()
        return self._row_bytes

    def _hand_over(self, logits: NDArray[np.float32] | None) -> None:
        if self._store is None or self._outgrown():
            return
        try:
            recording = self._store.recording()
            whole = all(
                self._add(recording, planned, node, logits if index == len(self._edges) else None)
                for index, (planned, node) in enumerate(self._edges, 1)
            )
        except (CheckpointError, NativeError) as error:
            self._give_up(str(error))
            return
        reserved, self._reserved = self._reserved, 0
        self._edges.clear()
        self._states.clear()
        self._unwritten = 0
        if recording.added or recording.attached:
            self._recorder.submit(recording, reserved, self._emit)
        else:
            self._recorder.release(reserved)
        if not whole:  # what comes after would hang in the air
            self._store = self._tree = None

    def _outgrown(self) -> bool:
        """Give up, before anything is copied, when the budget could not hold this lane's rows alone."""
        assert self._store is not None
        rows, budget = self._bytes_per_token() * self._lane.position, self._store.budget_bytes
        if rows > budget:
            self._give_up(
                f"The checkpoint budget of {budget >> 20} MiB cannot hold this conversation, whose rows take"
                f" {rows >> 20} MiB; what fits is kept. Raise disk_budget to keep all of it."
            )
        return rows > budget

    def _add(
        self,
        recording: Recording,
        planned: PlannedEdge,
        node: Known | None,
        logits: NDArray[np.float32] | None,
    ) -> bool:
        """Add one edge, or what a node that is stored already lacks; False when memory has no room for its rows."""
        state = self._states.pop(planned.stop, None)
        last = logits if logits is not None and self._reserve(logits.nbytes) else None
        if node is None:
            if not self._reserve(self._lane.attention_bytes(planned.start, planned.stop)):
                return False
            rows = self._lane.attention_rows(planned.start, planned.stop)
            self._parent = recording.add(
                self._parent,
                planned.edge,
                kv=rows,
                state=state,
                logits=None if last is None else last.tobytes(),
            )
            return True
        self._parent = node
        if not isinstance(node, Node):
            return True  # what waits for the writer is not touched any more
        state = None if node.has_state else state
        last = None if node.has_logits else last
        if state is not None or last is not None:
            recording.attach(node, state=state, logits=None if last is None else last.tobytes())
        return True

    def _drop(self) -> None:
        self._edges.clear()
        self._states.clear()
        self._recorder.release(self._reserved)
        self._reserved = 0

    def _give_up(self, reason: str) -> None:
        self._store = self._tree = None
        self._drop()
        self._emit(CheckpointFailed(reason=reason))
