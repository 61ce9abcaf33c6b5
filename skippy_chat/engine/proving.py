"""Whether a context's state can be taken out and put back exactly, shown on the context itself.

Invariant: a finding is made by comparing bytes (of states, rows and logits) with what was first computed, and every
restore is made over other tokens' remains, so that nothing passes because it was never overwritten.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skippy_chat.engine.lane import Lane, Stored
from skippy_chat.engine.planning import PlannedEdge
from skippy_chat.engine.schedule import edges_from_runs
from skippy_chat.errors import NativeError
from skippy_chat.native.context import Context


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried: ``fault`` says how it failed, "" that it did not."""

    what: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """What a lane held at a cut: rows by edge, and the state."""

    edges: tuple[PlannedEdge, ...]
    kv: tuple[tuple[int, int, bytes], ...]
    state: bytes | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A first computation: at every cut what was held, llama.cpp's own blob of the whole sequence, and the logits."""

    held: tuple[Held, ...]
    whole: tuple[bytes, ...]
    logits: tuple[bytes, ...]


class Prover:
    """Tries every way back on one context; the lane is empty before and after each."""

    def __init__(self, context: Context, runs: Sequence[tuple[int, bool]], *, seed: int = 1) -> None:
        """``runs``: tokens of each edge in order, and whether they are read one by one."""
        total = sum(tokens for tokens, _ in runs)
        self._context = context
        self._ids = some_ids(seed, total, context.model.n_vocab)
        self._other = some_ids(seed + 1, total, context.model.n_vocab)
        self._edges = edges_from_runs(self._ids, runs)

    def prove(self, lanes: int = 1, *, cuts: Sequence[int] | None = None) -> Iterator[Finding]:
        """Yield what each way back gave: rewind in place, replay, by range, whole blob, and into another lane.

        ``cuts`` are those to go back to (1: after the first edge), all but the end when None; the whole blob, the
        rewind and the other lane take the last of them.

        Raises:
            NativeError: the model cannot be read at all.
        """
        chosen = range(1, len(self._edges)) if cuts is None else cuts
        last = chosen[-1]
        lane = Lane(self._context)
        lane.clear()
        reference = self.compute(lane)
        if lane.has_partial_state:
            yield self.rewind(lane, reference, last)
        yield self.replay(lane, reference)
        for cut in chosen:
            yield self.by_parts(lane, reference, cut)
        yield self.whole(lane, reference, last)
        lane.clear()
        if lanes > 1:
            yield self.other_lane(reference, last)

    def compute(self, lane: Lane) -> Reference:
        """Read everything into the empty ``lane``, holding what there is at each cut."""
        held: list[Held] = []
        whole: list[bytes] = []
        logits: list[bytes] = []
        for planned in self._edges:
            lane.read(self._ids, planned, logits=True)
            logits.append(lane.logits().tobytes())
            held.append(self._hold(lane))
            whole.append(bytes(self._context.export_state(lane.sequence, whole=True)))
        return Reference(tuple(held), tuple(whole), tuple(logits))

    def replay(self, lane: Lane, reference: Reference) -> Finding:
        """Read everything again, over what other tokens left."""
        self._soil(lane, 1)
        return self._go_on(lane, reference, 0, "replay")

    def by_parts(self, lane: Lane, reference: Reference, cut: int) -> Finding:
        """Put the lane to cut number ``cut`` (1: after the first edge) as the product does, and read on."""
        self._soil(lane, cut)
        what = f"restore of {cut} segment{'s' if cut > 1 else ''}"
        return self.from_parts(lane, reference, cut, what, reference.held[cut - 1])

    def from_parts(self, lane: Lane, reference: Reference, cut: int, what: str, stored: Stored) -> Finding:
        """Put the lane to a cut from what ``stored`` holds, and read on."""
        edges = reference.held[cut - 1].edges
        return self._restored(lane, reference, cut, what, lambda: lane.restore(stored, edges))

    def whole(self, lane: Lane, reference: Reference, cut: int) -> Finding:
        """Put back llama.cpp's own blob of the whole sequence, and read on."""
        self._soil(lane, cut)

        def put() -> None:
            self._context.import_state(reference.whole[cut - 1], lane.sequence, whole=True)
            lane.assume(reference.held[cut - 1].edges)

        return self._restored(lane, reference, cut, "whole blob", put)

    def rewind(self, lane: Lane, reference: Reference, cut: int) -> Finding:
        """From the end, go back to a cut in place, and read on."""
        held = reference.held[cut - 1]
        return self._restored(
            lane, reference, cut, "rewind in place", lambda: lane.rewind(held.edges, held.state)
        )

    def other_lane(self, reference: Reference, cut: int) -> Finding:
        """Restore into another lane while the first holds something, which must stay as it is.

        A state names its lane, so what the other lane holds is compared by bringing it back into the first.
        """
        what = "into another lane"
        first, second = Lane(self._context), Lane(self._context, 1)
        held = reference.held[cut - 1]
        try:
            self._soil(second, cut)
            for planned in self._edges[:cut]:
                first.read(self._ids, planned, logits=True)
            second.restore(held, held.edges)
            if fault := _difference(self._hold(first), held):
                return Finding(what, f"{fault} of the other lane changed")
            there = self._hold(second)
            found = self._go_on(second, reference, cut, what, compare_end=False)
            self._soil(first, cut)
            first.restore(there, there.edges)
            if fault := _difference(self._hold(first), held):
                return Finding(what, f"{fault} differs after the way there and back")
            return found
        except NativeError as error:
            return Finding(what, str(error))
        finally:
            first.clear()
            second.clear()

    def _restored(
        self, lane: Lane, reference: Reference, cut: int, what: str, put: Callable[[], None]
    ) -> Finding:
        try:
            put()
        except NativeError as error:
            return Finding(what, str(error))
        if fault := _difference(self._hold(lane), reference.held[cut - 1]):
            return Finding(what, f"{fault} differs after the restore")
        return self._go_on(lane, reference, cut, what)

    def _go_on(
        self,
        lane: Lane,
        reference: Reference,
        cut: int,
        what: str,
        *,
        compare_end: bool = True,
    ) -> Finding:
        """Read from a cut to the end, comparing logits at every cut and everything held at the end."""
        for index in range(cut, len(self._edges)):
            planned = self._edges[index]
            lane.read(self._ids, planned, logits=True)
            if lane.logits().tobytes() != reference.logits[index]:
                distance = _distance(lane.logits().tobytes(), reference.logits[index])
                return Finding(what, f"logits at token {planned.stop} differ by {distance:.3g}")
        if compare_end and (fault := _difference(self._hold(lane), reference.held[-1])):
            return Finding(what, f"{fault} differs at the end")
        return Finding(what)

    def _soil(self, lane: Lane, cut: int) -> None:
        """Leave the remains of other tokens in the lane's memory, wherever a restore to ``cut`` has to write."""
        lane.clear()
        for planned in self._edges[:cut]:
            lane.read(self._other, planned, logits=False)
        lane.clear()

    def _hold(self, lane: Lane) -> Held:
        rows = []
        if lane.has_attention:
            for planned in lane.edges:
                taken = lane.attention_rows(planned.start, planned.stop)
                assert taken is not None
                rows.append((planned.start, planned.stop, bytes(taken)))
        state = lane.partial_state()
        return Held(
            tuple(lane.edges),
            tuple(rows),
            None if state is None else bytes(state),
        )


def some_ids(seed: int, count: int, n_vocab: int) -> array[int]:
    """Return ``count`` ids spread over a vocabulary of ``n_vocab``."""
    return array("i", np.random.default_rng(seed).integers(0, n_vocab, count).tolist())


def _difference(mine: Held, theirs: Held) -> str:
    """Name the part that differs, "" for none."""
    if mine.state != theirs.state:
        return "the state"
    return "the rows" if mine.kv != theirs.kv else ""


def _distance(mine: bytes, theirs: bytes) -> float:
    first, second = np.frombuffer(mine, np.float32), np.frombuffer(theirs, np.float32)
    largest = float(np.abs(first - second).max())
    return largest if np.isfinite(largest) else float("inf")
