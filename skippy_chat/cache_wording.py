"""What every face says about the cache: a session's checkpoints as a tree, and what a text will cost.

Invariant: every figure is the worker's; what it has not measured is left out. One row stands for all checkpoints of one
message in one branch, and no row is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skippy_chat.agent.looking import Checkpoints, Miss
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import CheckpointTree, EditCost, Foreseen, TreeNode
from skippy_chat.events import MissReason
from skippy_chat.text.sanitise import sanitise
from skippy_chat.text.sizes import format_size
from skippy_chat.tool_wording import cut
from skippy_chat.wording import plural, seconds

_PREVIEW = 40
_LOOKED_AT = 1000
_MISSES = 5
_ROLES = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}


@dataclass(slots=True)
class Row:
    """The checkpoints of one message in one branch; ``edit`` is known for the current branch.

    ``message`` is its index in the branch, the branch's length for an answer to come. ``position`` is the token at
    which the checkpoints end. ``below`` are the rows that follow, that of the current branch first.
    """

    branch: int
    message: int
    name: str
    gist: str
    role: str
    edit: EditCost | None
    position: int = 0
    tokens: int = 0
    checkpoints: int = 0
    states: int = 0
    bytes: int = 0
    stored: bool = False
    live: bool = False
    below: list[Row] = field(default_factory=list)

    def take(self, node: TreeNode) -> None:
        """Count in a checkpoint."""
        self.position = max(self.position, node.position)
        self.tokens += node.tokens
        self.checkpoints += 1
        self.states += node.has_state
        self.bytes += node.bytes
        self.stored |= node.stored
        self.live |= node.live


def rows_of(kept: Checkpoints) -> list[Row]:
    """Return the rows that hang on the root; the others hang on them."""
    costs = {cost.message: cost for cost in kept.tree.edits}
    names = [names_of(branch) for branch in kept.branches]
    top: list[Row] = []
    rows: dict[tuple[int, int], Row] = {}
    for node in kept.tree.nodes:
        key = (node.branch, node.message)
        row = rows.get(key)
        if row is None:
            message = kept.message(node)
            row = rows[key] = Row(
                node.branch,
                node.message,
                names[node.branch][node.message],
                "" if message is None else gist_of(message),
                "" if message is None else message.role,
                costs.get(node.message) if node.branch == 0 else None,
            )
            above = None if node.parent is None else kept.tree.nodes[node.parent]
            (top if above is None else rows[above.branch, above.message].below).append(row)
        row.take(node)
    for row in rows.values():
        row.below.sort(key=lambda each: each.branch)
    return sorted(top, key=lambda each: each.branch)


def tree_lines(kept: Checkpoints) -> list[str]:
    """Return the tree drawn: the current branch straight down, others beside it where they leave it."""
    return list(_drawn(rows_of(kept)))


def tree_sentences(kept: Checkpoints) -> list[str]:
    """Return the tree told in full sentences, for screen readers and dumb terminals."""
    said: list[str] = []
    branch = 0
    for above, row in _told(rows_of(kept)):
        if row.branch != branch:
            branch = row.branch
            where = "from the beginning" if above is None else f"after token {above.position:,}"
            said.append(f"Another branch {where}:" if branch else "The current branch goes on:")
        who = f"{row.name}, “{row.gist}”," if row.gist else row.name
        text = f"{who} ends at token {row.position:,}: {_kept(row)}."
        if row.role == "user" and row.edit is not None:
            text += f" An {_edit(row.edit)}."
        said.append(text)
    return said


def names_of(branch: Sequence[Message]) -> list[str]:
    """Return who says each message, numbered as the history is, and behind them what the answer to come is called."""
    return [*_numbered(branch), "The next answer"]


def gist_of(message: Message, limit: int = _PREVIEW) -> str:
    """Return a message's first words, clean and on one line of at most ``limit`` characters."""
    return cut(sanitise(message.content[:_LOOKED_AT], strip_format=True), limit)


def summary_lines(kept: Checkpoints) -> list[str]:
    """Return what all of it weighs, against what budget, and the last misses with their reasons."""
    return [*_sums(kept.tree), *miss_lines(kept, _MISSES)]


def miss_lines(kept: Checkpoints, most: int) -> list[str]:
    """Return the last misses with their reasons, the newest last."""
    return [_missed(kept, miss) for miss in kept.misses[-most:]]


def foreseen_line(told: Foreseen, *, why: bool = True) -> str:
    """Return where a text would resume, before it is sent, and ``why`` no further."""
    if not told.fits:
        return f"does not fit: {told.prompt_tokens:,} tokens, the context holds {told.context_size:,}"
    if told.cached_tokens == 0:
        line = f"reads all {told.prompt_tokens:,} tokens"
    else:
        line = f"resumes at {told.cached_tokens:,} of {told.prompt_tokens:,}"
    if told.seconds is not None and told.to_read:
        line += f" · about {seconds(told.seconds * 1000)}"
    if why and told.miss_reason is not None:
        line += f" · {told.miss_reason}"
    return line


def edit_line(cost: EditCost) -> str:
    """Return what it costs to change a message, before a word of it is."""
    line = f"changed from its start: resumes at {cost.resumes:,}, reads {plural(cost.reads, 'token')}"
    return line if cost.seconds is None else f"{line} · about {seconds(cost.seconds * 1000)}"


def amend_line(cost: EditCost) -> str:
    """Return where the next turn goes on when an answer or a result is changed; what begins it may stay, too."""
    return f"changed from its start: the next turn resumes at {cost.resumes:,} or later"


def cost_of(kept: Checkpoints, message: str) -> EditCost | None:
    """Return what it costs to change a message (an id) of the current branch; None where that is not known."""
    current = kept.branches[0] if kept.branches else ()
    return next((cost for cost in kept.tree.edits if message and current[cost.message].id == message), None)


def _drawn(rows: Sequence[Row]) -> Iterator[str]:
    while rows:
        straight, *others = rows
        for row in others:
            lines = _drawn([row])
            yield f"├─ {next(lines)}"
            yield from (f"│  {line}" for line in lines)
        yield _line(straight)
        rows = straight.below


def _told(rows: Sequence[Row]) -> Iterator[tuple[Row | None, Row]]:
    """Yield each row and the one it hangs on, the branches beside the current one before it goes on."""
    above: Row | None = None
    while rows:
        straight, *others = rows
        for row in others:
            beside = _told([row])
            _, first = next(beside)
            yield above, first
            yield from beside
        yield above, straight
        above, rows = straight, straight.below


def _line(row: Row) -> str:
    who = f"{row.name}: {row.gist}" if row.gist else row.name
    parts = [f"{row.position:>7,}  {who}", _kept(row)]
    if row.role == "user" and row.edit is not None:
        parts.append(f"an {_edit(row.edit)}")
    return " · ".join(parts)


def _kept(row: Row) -> str:
    """Return what is kept of a message, and where."""
    places = [name for name, there in (("on disk", row.stored), ("in memory", row.live)) if there]
    text = f"{plural(row.tokens, 'token')} {' and '.join(places)}"
    if row.bytes:
        text += f", {format_size(row.bytes)}"
    if row.states:
        text += f", {plural(row.states, 'state')}"
    return text


def _edit(cost: EditCost) -> str:
    text = f"edit resumes at {cost.resumes:,} and reads {plural(cost.reads, 'token')}"
    return text if cost.seconds is None else f"{text}, about {seconds(cost.seconds * 1000)}"


def _sums(tree: CheckpointTree) -> Iterator[str]:
    if not tree.nodes:
        yield "Nothing is kept of this session yet."
    else:
        size = format_size(tree.bytes)
        yield f"This session: {plural(len(tree.nodes), 'checkpoint')}, {size} on disk, its shared parts included."
    yield f"In memory now: {plural(tree.live_tokens, 'token')}."
    if tree.off is not None:
        yield f"Nothing is stored: {tree.off}."
    else:
        part = 100 * tree.store_bytes / max(tree.budget_bytes, 1)
        used, budget = format_size(tree.store_bytes), format_size(tree.budget_bytes)
        yield f"The cache of all models: {used} of its budget of {budget} ({part:.0f} %)."


def _missed(kept: Checkpoints, miss: Miss) -> str:
    asked = next(
        (each for branch in kept.branches for each in branch if each.id and each.id == miss.message), None
    )
    turn = f"“{gist_of(asked)}”" if asked is not None else "an earlier message"
    step = f", step {miss.step}" if miss.step > 1 else ""
    return (
        f"Missed at {turn}{step}: {miss.cached_tokens:,} of {plural(miss.prompt_tokens, 'token')} reused; "
        f"{_reason(miss.reason)}."
    )


def _reason(reason: MissReason) -> str:
    return str(reason).rstrip(".")


def _numbered(branch: Sequence[Message]) -> Iterator[str]:
    counts = dict.fromkeys(("user", "tool"), 0)
    for message in branch:
        name = _ROLES[message.role]
        if message.role in counts:
            counts[message.role] += 1
            name += f" {counts[message.role]}"
        yield name
