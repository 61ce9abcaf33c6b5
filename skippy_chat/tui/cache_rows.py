"""The checkpoint tree of a session as rows to show: guides, words and figures, one row for each checkpoint or message.

Invariant: the branch of now goes straight down, others stand beside it where they leave it, and no row is left out.
Foreign text comes out on one line and clean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.cache_wording import Row, gist_of, names_of, rows_of
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import EditCost, TreeNode
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural, seconds

T = TypeVar("T")

_MINUTES_FROM = 100  # seconds
_GIST = 160  # characters; what a wide screen has room for
_CUTS: Mapping[str, str] = {
    "end_of_system": "end of the system prompt",
    "end_of_message": "end of the message",
    "end_of_prompt": "end of the prompt",
    "generation_prompt": "start of the answer",
    "end_of_answer": "end of the answer",
    "divergence": "before a change",
    "grid": "inside the message",
}


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A row; ``now`` says that it is on the current branch, ``main`` that it stands for its whole message.

    ``message`` is None for the prompt of an answer to come. ``edit`` is told for the person's own messages, of the
    current branch; ``facts`` are what the columns have no room for.
    """

    guides: str
    now: bool
    main: bool
    position: int
    name: str
    gist: str
    bytes: int
    stored: bool
    live: bool
    message: Message | None
    edit: EditCost | None
    facts: str

    @property
    def size(self) -> str:
        """What it weighs on disk."""
        return format_size(self.bytes) if self.bytes else "-"

    @property
    def place(self) -> str:
        """Where it is kept."""
        return "both" if self.stored and self.live else "disk" if self.stored else "memory"

    @property
    def cost(self) -> str:
        """What changing the message has to read, and how long that takes; empty where that is not told."""
        if self.edit is None:
            return ""
        text, took = f"{self.edit.reads:,}", self.edit.seconds
        if took is None:
            return text
        return f"{text} · {seconds(took * 1000) if took < _MINUTES_FROM else f'{took / 60:,.0f} min'}"


def checkpoint_rows(kept: Checkpoints) -> list[TreeRow]:
    """Return a row for each checkpoint."""
    nodes = kept.tree.nodes
    below: list[list[int]] = [[] for _ in nodes]
    top: list[int] = []
    for index, node in enumerate(nodes):
        (top if node.parent is None else below[node.parent]).append(index)
    for each in (top, *below):
        each.sort(key=lambda index: nodes[index].branch)
    # The deepest checkpoint of a message speaks for it; where two reach equally deep, the one that is gone on from.
    main: dict[tuple[int, int], int] = {}
    for index, node in enumerate(nodes):
        at = main.get((node.branch, node.message))
        if at is None or (node.position, len(below[index])) > (nodes[at].position, len(below[at])):
            main[node.branch, node.message] = index
    speakers = frozenset(main.values())
    words = _Words(kept)
    return [
        words.of_checkpoint(guides, nodes[index], main=index in speakers)
        for guides, index in drawn(top, below.__getitem__)
    ]


def message_rows(kept: Checkpoints) -> list[TreeRow]:
    """Return a row for each message in each branch."""
    words = _Words(kept)
    return [words.of_message(guides, row) for guides, row in drawn(rows_of(kept), lambda row: row.below)]


def drawn(top: Sequence[T], below: Callable[[T], Sequence[T]]) -> Iterator[tuple[str, T]]:
    """Yield each node with the guides before it; what goes straight down is the first of those below a node."""
    waiting: list[tuple[str, str, T]] = []

    def put(nodes: Sequence[T], before: str) -> None:
        if nodes:
            straight, *beside = nodes
            waiting.append((before, before, straight))
            waiting.extend((f"{before}├─", f"{before}│ ", node) for node in reversed(beside))

    put(top, "")
    while waiting:
        guides, before, node = waiting.pop()
        yield guides, node
        put(below(node), before)


class _Words:
    """What the rows of one session say."""

    def __init__(self, kept: Checkpoints) -> None:
        self._kept = kept
        self._names = [names_of(branch) for branch in kept.branches]
        self._costs = {cost.message: cost for cost in kept.tree.edits}

    def of_checkpoint(self, guides: str, node: TreeNode, *, main: bool) -> TreeRow:
        message = self._kept.message(node)
        why = _CUTS.get(node.cut, node.cut)
        way = "written" if node.generated else "read"
        parts = [
            f"tokens {node.position - node.tokens:,} to {node.position:,}, {way}: {why}",
            *_parts(node),
        ]
        return TreeRow(
            guides,
            node.branch == 0,
            main,
            node.position,
            self._names[node.branch][node.message],
            gist_of(message, _GIST) if main and message is not None else why,
            node.bytes,
            node.stored,
            node.live,
            message,
            self._edit(node.branch, node.message, message) if main else None,
            " · ".join(parts),
        )

    def of_message(self, guides: str, row: Row) -> TreeRow:
        branch = self._kept.branches[row.branch]
        message = branch[row.message] if row.message < len(branch) else None
        facts = f"{plural(row.tokens, 'token')} in {plural(row.checkpoints, 'checkpoint')}"
        facts += f", {plural(row.states, 'state')}"
        return TreeRow(
            guides,
            row.branch == 0,
            True,
            row.position,
            row.name,
            "" if message is None else gist_of(message, _GIST),
            row.bytes,
            row.stored,
            row.live,
            message,
            self._edit(row.branch, row.message, message),
            facts,
        )

    def _edit(self, branch: int, index: int, message: Message | None) -> EditCost | None:
        if branch or message is None or message.role != "user":
            return None
        return self._costs.get(index)


def _parts(node: TreeNode) -> Iterator[str]:
    for what, size in (("rows", node.row_bytes), ("state", node.state_bytes), ("logits", node.logits_bytes)):
        if size:
            yield f"{what} {format_size(size)}"
