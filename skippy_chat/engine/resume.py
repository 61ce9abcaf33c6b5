"""Choose where a prompt resumes: from the lane as it stands, from a checkpoint on disk, or from nothing.

Invariant: what ``foresee`` tells is what ``resume`` then does, as long as nothing is evicted or found damaged between;
the choice is made once, for both. Only ``resume`` touches the lane, or notes that a checkpoint was used.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Edge, EvictedCheckpoint, Node
from skippy_chat.engine.lane import Lane, LaneTree
from skippy_chat.engine.planning import Match, NodeT, PlannedEdge, Prompt, Tree, find, walk
from skippy_chat.engine.recorder import Emit
from skippy_chat.errors import CheckpointError, NativeError
from skippy_chat.events import CacheSource, CheckpointFailed, MissKind, MissReason

_ATTEMPTS = 8
"""Damaged checkpoints that one prompt may meet before it is simply read."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where the lane now stands, and what is known of the tree beyond.

    ``logits`` are the stored ones when nothing is left to read. ``known`` is the deepest position the tree has edges
    for: the point where the prompt leaves the tree.
    """

    source: CacheSource = "none"
    position: int = 0
    edges: tuple[PlannedEdge, ...] = ()
    known: int = 0
    logits: NDArray[np.float32] | None = None
    miss: MissReason | None = None
    diverged_at: int | None = None


class StoreTree:
    """The checkpoint store as a tree to walk: which nodes a lane of this kind can be put at."""

    def __init__(self, store: CheckpointStore, lane: Lane, refused: AbstractSet[int] = frozenset()) -> None:
        """``refused`` holds nodes that were found whole but that the lane would not take."""
        self._store = store
        self._refused = refused
        self._attention = lane.has_attention
        self._partial = lane.has_partial_state

    def child(self, parent: Node | None, edge: Edge) -> Node | None:
        """Return the node that ``edge`` leads to; one whose attention rows are gone is as good as none."""
        node = self._store.child(parent, edge)
        if node is None or (self._attention and not node.has_kv):
            return None
        return node

    def restorable(self, node: Node, *, at_end: bool) -> bool:
        """Return whether all that the lane needs is stored at ``node``."""
        return (
            node.id not in self._refused
            and (node.has_state or not self._partial)
            and (node.has_logits or not at_end)
        )


@dataclass(slots=True)
class Resumer:
    """Puts a lane as deep into a prompt as lane and store allow.

    ``strayed``: the lane holds what was not to be kept, a side question's; to leave that behind loses nothing.
    """

    lane: Lane
    store: CheckpointStore | None
    off: MissReason = field(default_factory=lambda: MissReason("off"))
    strayed: bool = False

    def resume(self, prompt: Prompt, emit: Emit) -> Resumed:
        """Restore the deepest usable position; whatever cannot be used is told through ``emit`` and passed over."""
        damaged: MissReason | None = None
        refused: set[int] = set()
        for _ in range(_ATTEMPTS):
            disk: Match[Node] = _NOTHING
            try:
                disk = self._on_disk(prompt, refused)
                resumed = self._enter(prompt, disk)
                return self._explain(resumed, prompt, disk, damaged)
            except (CheckpointError, NativeError) as error:
                kind: MissKind = "evicted" if isinstance(error, EvictedCheckpoint) else "damaged"
                damaged = MissReason(kind, disk.position, prompt.message_at(disk.position), str(error))
                emit(CheckpointFailed(reason=str(error)))
                if disk.node is None:
                    self.store = None
                else:
                    refused.add(disk.node.id)
        self.lane.clear()
        return Resumed(miss=damaged)

    def foresee(self, prompt: Prompt) -> Resumed:
        """Return where ``resume`` would put the lane; from any thread. No file is opened, so no damage is found."""
        disk: Match[Node] = _NOTHING
        try:
            disk = self._on_disk(prompt, frozenset())
            return self._explain(self._choose(prompt, disk), prompt, disk, None)
        except CheckpointError as error:
            without = Resumer(self.lane, None, MissReason("damaged", 0, prompt.message_at(0), str(error)))
            return without.foresee(prompt)

    def reachable(self, prompt: Prompt) -> list[int]:
        """Return, in order, the positions where the lane could be put if a prompt went on differently from there.

        Raises:
            CheckpointError: the index cannot be read.
        """
        return sorted(set(self._reachable(LaneTree(self.lane), prompt)) | set(self._stored(prompt)))

    def _stored(self, prompt: Prompt) -> Iterator[int]:
        return iter(()) if self.store is None else self._reachable(StoreTree(self.store, self.lane), prompt)

    @staticmethod
    def _reachable(tree: Tree[NodeT], prompt: Prompt) -> Iterator[int]:
        return (walked[-1].stop for node, walked in walk(tree, prompt) if tree.restorable(node, at_end=False))

    def _on_disk(self, prompt: Prompt, refused: AbstractSet[int]) -> Match[Node]:
        return _NOTHING if self.store is None else find(StoreTree(self.store, self.lane, refused), prompt)

    def _choose(self, prompt: Prompt, disk: Match[Node]) -> Resumed:
        live = find(LaneTree(self.lane), prompt)
        known = max(live.known, disk.known)
        if max(live.position, disk.position) == 0:
            return Resumed(known=known)
        if live.position >= disk.position:
            return Resumed("live", live.position, live.edges, known)
        return Resumed("disk", disk.position, disk.edges, disk.known if self.strayed else known)

    def _enter(self, prompt: Prompt, disk: Match[Node]) -> Resumed:
        chosen = self._choose(prompt, disk)
        if chosen.source == "none":
            self.lane.clear()
        elif chosen.source == "live":
            self.lane.rewind(chosen.edges)
        else:
            return replace(chosen, logits=self._restore(disk, prompt))
        return chosen

    def _restore(self, match: Match[Node], prompt: Prompt) -> NDArray[np.float32] | None:
        assert self.store is not None
        assert match.node is not None
        at_end = match.position == len(prompt.ids)
        # The lane may hold the same tokens already and only be past them: then no row need be brought.
        in_place = self.lane.holds(match.edges)
        with self.store.map(
            match.node,
            kv_from=match.position if in_place else 0,
            state=self.lane.has_partial_state,
            logits=at_end,
        ) as mapped:
            if in_place:
                self.lane.rewind(match.edges, mapped.state)
            else:
                self.lane.restore(mapped, match.edges)
            self.store.touch(match.node)
            if not at_end:
                return None
            if mapped.logits is None:
                raise CheckpointError("The stored logits are missing.")
            # Copied, because the mapping goes away and the sampler reads them after that.
            return np.frombuffer(mapped.logits, dtype="<f4").astype(np.float32, copy=True)

    def _explain(
        self, resumed: Resumed, prompt: Prompt, disk: Match[Node], damaged: MissReason | None
    ) -> Resumed:
        if resumed.position == len(prompt.ids):
            return replace(resumed, miss=damaged)
        if self.store is None:
            return replace(resumed, miss=damaged or self.off)
        # The lane may be ahead of the disk, whose writer is still at it: then nothing was left behind.
        diverged = None if resumed.position > disk.known else self._divergence(prompt, disk)
        miss = damaged or self._miss(prompt, resumed, diverged)
        return replace(resumed, miss=miss, diverged_at=diverged)

    def _miss(self, prompt: Prompt, resumed: Resumed, diverged: int | None) -> MissReason | None:
        rewritten = prompt.rewritten_at(resumed.position)
        if rewritten is not None:
            return MissReason("template_rewrote", message=rewritten)
        # Any two prompts begin alike; where this one was read before, it is its opening that changed since.
        if resumed.known == 0 and not (diverged and prompt.answered):
            return MissReason("nothing_stored")
        if diverged is not None:
            return MissReason("diverged", diverged, prompt.message_at(diverged))
        if resumed.position < resumed.known:
            return self._lost(prompt, resumed.known, "no state is kept there")
        if any((stretch.sampled_until or 0) > resumed.known for stretch in prompt.stretches):
            # An answer was fed once, so this is no prompt that only goes on.
            return self._lost(prompt, resumed.known, "nothing is kept from there on")
        return None

    def _lost(self, prompt: Prompt, position: int, detail: str) -> MissReason:
        """Return why something is not there that might be: where nothing ever had to go, it was not evicted."""
        evicted = self.store is not None and self.store.has_evicted()
        return MissReason(
            "evicted" if evicted else "not_stored", position, prompt.message_at(position), detail
        )

    def _divergence(self, prompt: Prompt, disk: Match[Node]) -> int | None:
        """Return the token position where the prompt leaves what is stored, or None where it only goes further."""
        assert self.store is not None
        if disk.known == len(prompt.ids):
            return None
        shared = self.store.shared_below(disk.known_node, Edge.of(prompt.ids[disk.known :]).ids)
        return None if shared is None else disk.known + shared


_NOTHING: Match[Node] = Match(None, 0, (), 0, None)
