"""Questions about the cache, which a worker answers beside its steps, and their answers.

Invariant: a question carries the very requests that would be made, so that what is told is told of the same prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from skippy_chat.engine.protocol import StepRequest, parse_request
from skippy_chat.events import CacheSource, MissReason


@dataclass(frozen=True, slots=True)
class ForeseeQuestion:
    """Where would this step resume?"""

    kind: ClassVar[str] = "foresee"
    step: StepRequest


@dataclass(frozen=True, slots=True)
class TreeQuestion:
    """What is stored of a conversation? ``branches`` ask for each of its branches to be gone on with, its current one
    first; what one of them alone holds is told as its own.
    """

    kind: ClassVar[str] = "tree"
    branches: Sequence[StepRequest]


@dataclass(frozen=True, slots=True)
class MeasureQuestion:
    """How long is this step's prompt, message by message? Nothing of the cache is looked at."""

    kind: ClassVar[str] = "measure"
    step: StepRequest


Question: TypeAlias = "ForeseeQuestion | TreeQuestion | MeasureQuestion"
KINDS = (ForeseeQuestion.kind, TreeQuestion.kind, MeasureQuestion.kind)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Where a step would resume: at token ``cached_tokens`` of ``prompt_tokens``, and why no further.

    ``seconds`` is how long reading the rest would take, by what this worker has read; None before it has read enough.
    """

    prompt_tokens: int
    cached_tokens: int
    source: CacheSource
    miss_reason: MissReason | None
    seconds: float | None
    context_size: int

    @property
    def to_read(self) -> int:
        """Tokens that would be read."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def fits(self) -> bool:
        """Whether the context has room for the prompt and a token of its answer."""
        return self.prompt_tokens < self.context_size


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A checkpoint: what is kept at the end of tokens ``[position - tokens, position)``.

    ``parent`` is an index into the tree's nodes, which come before what hangs on them; None: the root. ``branch`` is
    the first branch that leads here, ``message`` the index in it of the message that the tokens belong to; it is their
    count for the prompt of an answer to come. ``cut`` is why there is one here (``checkpoints.placement.Cut``).
    ``generated``: the tokens were written one by one, not read. ``stored``: on disk; ``live``: in the lane now. Sizes
    are those on disk, in bytes; ``has_state`` and ``has_logits`` say what is there beside the rows.
    """

    parent: int | None
    position: int
    tokens: int
    branch: int
    message: int
    cut: str
    generated: bool
    stored: bool
    live: bool
    has_state: bool
    has_logits: bool
    row_bytes: int
    state_bytes: int
    logits_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return self.row_bytes + self.state_bytes + self.logits_bytes


@dataclass(frozen=True, slots=True)
class EditCost:
    """What it costs to have message ``message`` (an index) say something else from its first word on.

    ``resumes`` tokens are kept, ``reads`` are read before the answer, counted with the message as long as it is now;
    ``seconds`` as in ``Foreseen``.
    """

    message: int
    resumes: int
    reads: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class CheckpointTree:
    """What is kept of a conversation, and what an edit of each message in its current branch costs.

    ``live_tokens`` are in the lane now. ``store_bytes`` are used of ``budget_bytes`` by all models together; both 0
    where nothing is stored, and ``off`` says why then.
    """

    nodes: tuple[TreeNode, ...]
    edits: tuple[EditCost, ...]
    prompt_tokens: int
    live_tokens: int
    store_bytes: int
    budget_bytes: int
    off: MissReason | None = None

    @property
    def bytes(self) -> int:
        """Bytes on disk of this conversation's checkpoints, parts of it that others share included."""
        return sum(node.bytes for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Measured:
    """How many of a prompt's tokens are each message's, and the whole; what is left begins the answer.

    A message whose end cannot be told from the text is counted with the next one.
    """

    messages: tuple[int, ...]
    prompt_tokens: int


Told: TypeAlias = "Foreseen | CheckpointTree | Measured"


def parse_question(frame: Mapping[str, Any]) -> Question:
    """Build a question from a frame.

    Raises:
        ValueError: not a question of this protocol.
    """
    body = frame.get("body") or {}
    try:
        if frame.get("kind") == ForeseeQuestion.kind:
            return ForeseeQuestion(_step(body["step"]))
        if frame.get("kind") == MeasureQuestion.kind:
            return MeasureQuestion(_step(body["step"]))
        if frame.get("kind") == TreeQuestion.kind:
            return TreeQuestion([_step(each) for each in body["branches"]])
    except (KeyError, TypeError) as error:
        raise ValueError(f"a malformed question: {error}") from error
    raise ValueError(f"an unknown question: {frame.get('kind')!r}")


def parse_told(question: Question, body: Mapping[str, Any]) -> Told:
    """Build the answer to a question from a frame's body.

    Raises:
        KeyError, TypeError: it is none.
    """
    if isinstance(question, ForeseeQuestion):
        return Foreseen(**{**body, "miss_reason": _reason(body["miss_reason"])})
    if isinstance(question, MeasureQuestion):
        return Measured(tuple(body["messages"]), body["prompt_tokens"])
    return CheckpointTree(
        **{
            **body,
            "nodes": tuple(TreeNode(**each) for each in body["nodes"]),
            "edits": tuple(EditCost(**each) for each in body["edits"]),
            "off": _reason(body["off"]),
        }
    )


def _step(body: Mapping[str, Any]) -> StepRequest:
    request = parse_request({"kind": StepRequest.kind, "body": body})
    assert isinstance(request, StepRequest)
    return request


def _reason(body: Mapping[str, Any] | None) -> MissReason | None:
    return None if body is None else MissReason(**body)
