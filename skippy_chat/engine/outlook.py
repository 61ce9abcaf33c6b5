"""Looking at what is kept of a conversation, and ahead at what the next step would make of it.

Invariant: nothing is changed by looking: not the lane, nor what is stored, nor when it was last used. Where a prompt
resumes is told by the code that resumes it (``resume``). While a step runs, all is told as the lane stands in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Edge, Mode, Node, node_key
from skippy_chat.engine.engine import Engine
from skippy_chat.engine.lane import Lane, LaneTree
from skippy_chat.engine.planning import PlannedEdge, Prompt, walk
from skippy_chat.engine.protocol import StepRequest
from skippy_chat.engine.questions import (
    CheckpointTree,
    EditCost,
    Foreseen,
    ForeseeQuestion,
    Measured,
    MeasureQuestion,
    Question,
    Told,
    TreeNode,
    TreeQuestion,
)
from skippy_chat.engine.resume import StoreTree

_NO_STORE = bytes(32)
_LOGIT_BYTES = 4


class Outlook:
    """Answers questions about one engine, from any one thread beside the engine's own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def tell(self, question: Question) -> Told:
        """Answer a question.

        Raises:
            CheckpointError: the index cannot be read.
            NativeError: the template refuses a conversation.
        """
        if isinstance(question, MeasureQuestion):
            return self.measure(question)
        return self.foresee(question) if isinstance(question, ForeseeQuestion) else self.tree(question)

    def measure(self, question: MeasureQuestion) -> Measured:
        """Tell how long a step's prompt is."""
        prompt = self._engine.prompt(question.step)
        tokens = [0] * len(question.step.messages)
        for stretch in prompt.stretches:
            if stretch.message < len(tokens):
                tokens[stretch.message] += stretch.stop - stretch.start
        return Measured(tuple(tokens), len(prompt.ids))

    def foresee(self, question: ForeseeQuestion) -> Foreseen:
        """Tell where a step would resume."""
        engine = self._engine
        prompt = engine.prompt(question.step)
        resumed = engine.foresee(question.step, prompt)
        left = len(prompt.ids) - resumed.position
        return Foreseen(
            len(prompt.ids),
            resumed.position,
            resumed.source,
            resumed.miss,
            engine.speed.seconds(left),
            engine.context.n_ctx,
        )

    def tree(self, question: TreeQuestion) -> CheckpointTree:
        """Tell what is kept of a conversation."""
        engine = self._engine
        prompts = [(step, engine.prompt(step)) for step in question.branches]
        engine.flush()  # what a step handed over is on disk when the next one looks
        seen = _Seen(engine.store, engine.lane, engine.model.n_vocab * _LOGIT_BYTES)
        for branch, (_, prompt) in enumerate(prompts):
            seen.follow(branch, prompt)
        store = engine.store
        return CheckpointTree(
            nodes=tuple(seen.nodes),
            edits=tuple(self._edits(*prompts[0])) if prompts else (),
            prompt_tokens=len(prompts[0][1].ids) if prompts else 0,
            live_tokens=engine.lane.position,
            store_bytes=0 if store is None else store.used_bytes(),
            budget_bytes=0 if store is None else store.budget_bytes,
            off=engine.no_store if store is None else None,
        )

    def _edits(self, step: StepRequest, prompt: Prompt) -> Iterator[EditCost]:
        reachable = self._engine.reachable(step, prompt)
        last = prompt.stretches[-1]
        ending = last.stop - last.start if last.cut is Cut.GENERATION_PROMPT else 0
        for message, (start, stop) in _places(prompt, len(step.messages)).items():
            at = bisect_right(reachable, start)
            resumes = reachable[at - 1] if at else 0
            reads = stop + ending - resumes
            yield EditCost(message, resumes, reads, self._engine.speed.seconds(reads))


def _places(prompt: Prompt, messages: int) -> dict[int, tuple[int, int]]:
    """Return the tokens ``[start, stop)`` of each message that has some of its own."""
    places: dict[int, tuple[int, int]] = {}
    for stretch in prompt.stretches:
        if stretch.message < messages:
            start, _ = places.get(stretch.message, (stretch.start, 0))
            places[stretch.message] = (start, stretch.stop)
    return places


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place in the tree: what the store has there, and how many of the lane's edges lead to it."""

    key: bytes
    above: bytes
    node: Node | None
    lane: int | None


class _Seen:
    """Store and lane walked as one tree, branch by branch; each place is told once, by the first that comes there."""

    def __init__(self, store: CheckpointStore | None, lane: Lane, logits_bytes: int) -> None:
        self.nodes: list[TreeNode] = []
        self._root = _NO_STORE if store is None else store.identity.root_key
        self._stored = None if store is None else StoreTree(store, lane)
        self._live = LaneTree(lane)
        self._logits_bytes = logits_bytes
        self._spots: dict[bytes, _Spot | None] = {}
        self._numbers: dict[bytes, int] = {}

    def follow(self, branch: int, prompt: Prompt) -> None:
        """Take in what there is of a branch's prompt."""
        for spot, walked in walk(self, prompt):
            if spot.key not in self._numbers:
                self._numbers[spot.key] = len(self.nodes)
                self.nodes.append(self._told(spot, walked[-1], branch, prompt))

    def child(self, parent: _Spot | None, edge: Edge) -> _Spot | None:
        """Return the place that ``edge`` leads to, if store or lane has it."""
        above = self._root if parent is None else parent.key
        key = node_key(above, edge.mode, edge.ids)
        if key not in self._spots:
            node = lane = None
            if self._stored is not None and (parent is None or parent.node is not None):
                node = self._stored.child(None if parent is None else parent.node, edge)
            if parent is None or parent.lane is not None:
                lane = self._live.child(None if parent is None else parent.lane, edge)
            nothing = node is None and lane is None
            self._spots[key] = None if nothing else _Spot(key, above, node, lane)
        return self._spots[key]

    def restorable(self, _node: _Spot, *, at_end: bool) -> bool:
        """Not asked here: ``resume`` knows."""
        raise NotImplementedError

    def _told(self, spot: _Spot, planned: PlannedEdge, branch: int, prompt: Prompt) -> TreeNode:
        node = spot.node
        message = prompt.message_at(planned.start)
        assert message is not None, "an edge has tokens"
        return TreeNode(
            parent=self._numbers.get(spot.above),
            position=planned.stop,
            tokens=planned.stop - planned.start,
            branch=branch,
            message=message,
            cut=planned.cut.value,
            generated=planned.mode is Mode.SINGLE,
            stored=node is not None,
            live=spot.lane is not None,
            has_state=node is not None and node.has_state,
            has_logits=node is not None and node.has_logits,
            row_bytes=0 if node is None else node.kv_bytes,
            state_bytes=0 if node is None else node.state_bytes,
            logits_bytes=self._logits_bytes if node is not None and node.has_logits else 0,
        )
