"""Looking at what is kept of a conversation, and ahead at what a text would cost before it is sent.

Invariant: what is asked about is the request that would be made, put together by what makes it; nothing is stored,
drawn or begun by looking.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from skippy_chat.agent.stepping import Engine, Stepper
from skippy_chat.chat.forms import FORMS
from skippy_chat.chat.messages import Message
from skippy_chat.chat.pairing import completed
from skippy_chat.engine.questions import CheckpointTree, Foreseen, TreeNode, TreeQuestion
from skippy_chat.errors import TemplateRefused
from skippy_chat.events import Event, MissReason, PrefillStarted, TurnStarted

KEPT_MISSES = 32
MOST_BRANCHES = 16
"""Branches looked at, the current one and the newest of the others: each must be rendered."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Miss:
    """A step that had to read what might have been kept, and why; ``message`` (an id) is the turn's question.

    ``step`` counts a turn's steps from 1; ``at_ms`` is milliseconds since the epoch.
    """

    turn: str
    message: str
    step: int
    prompt_tokens: int
    cached_tokens: int
    reason: MissReason
    at_ms: int


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What is kept of a session: its tree, the messages of the branches that it tells of, the newest misses last.

    The messages are those that prompts carry; one that stands for another, or for a missing result, has no id.
    """

    tree: CheckpointTree
    branches: tuple[tuple[Message, ...], ...]
    misses: tuple[Miss, ...]

    def message(self, node: TreeNode) -> Message | None:
        """Return the message that a node's tokens belong to; None for the prompt of an answer to come."""
        branch = self.branches[node.branch]
        return branch[node.message] if node.message < len(branch) else None


class Misses:
    """Takes note of an open session's misses, from its events; the newest are kept."""

    def __init__(self) -> None:
        self._kept: deque[Miss] = deque(maxlen=KEPT_MISSES)
        self._turn = ""
        self._message = ""
        self._step = 0

    def take(self, event: Event) -> None:
        """Be told of an event."""
        if isinstance(event, TurnStarted):
            self._turn, self._message, self._step = event.turn, event.message, 0
        elif isinstance(event, PrefillStarted) and event.turn == self._turn:
            self._step += 1
            if event.miss_reason is not None:
                self._kept.append(
                    Miss(
                        event.turn,
                        self._message,
                        self._step,
                        event.prompt,
                        event.cached,
                        event.miss_reason,
                        event.at_ms,
                    )
                )

    def newest(self) -> tuple[Miss, ...]:
        """Return what is kept, the newest last; from any thread."""
        return tuple(self._kept.copy())


class Looking:
    """Asks an engine's worker about conversations; from any thread, also while a turn runs."""

    def __init__(self, engine: Engine, stepper: Stepper) -> None:
        self._engine = engine
        self._stepper = stepper

    def foresee(self, branch: Sequence[Message]) -> Foreseen:
        """Tell where the step that answers ``branch`` would resume.

        Raises:
            EngineDied: there is no worker, or it ended.
            SkippyError: as the worker said.
        """
        return in_words([branch], lambda said: self._stepper.foresee(said[0]))

    def checkpoints(self, branches: Sequence[Sequence[Message]], misses: Misses) -> Checkpoints:
        """Tell what is kept of ``branches``, the current one first; those without a word of the user are left out.

        Raises:
            EngineDied: there is no worker, or it ended.
            SkippyError: as the worker said.
        """
        spoken = [branch for branch in branches if any(each.role == "user" for each in branch)]

        def ask(said: Sequence[Sequence[Message]]) -> Checkpoints:
            tree = self._engine.ask(TreeQuestion([self._stepper.asked(branch) for branch in said]))
            return Checkpoints(tree, tuple(tuple(branch) for branch in said), misses.newest())

        return in_words(spoken[:MOST_BRANCHES], ask)


def in_words(branches: Sequence[Sequence[Message]], ask: Callable[[Sequence[Sequence[Message]]], T]) -> T:
    """Ask about branches in the words that the template takes, as a step does.

    Raises:
        TemplateRefused: it takes none.
    """
    complete = [completed(branch) for branch in branches]
    refused: TemplateRefused | None = None
    asked: list[Sequence[Sequence[Message]]] = []
    for form in FORMS:
        said = [form(branch) for branch in complete]
        if said in asked:
            continue
        asked.append(said)
        try:
            return ask(said)
        except TemplateRefused as error:
            refused = refused or error
    assert refused is not None, "no form is left out before one was refused"
    raise refused
