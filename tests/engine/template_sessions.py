"""Conversations run through the product's own rendering and planning, with a tree in memory instead of a store."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.checkpoints.types import Edge
from skippy_chat.engine.planning import Match, PlannedEdge, Prompt, answer_edges, find, remaining
from skippy_chat.engine.rendering import Answer, Renderer
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.model import Model

Message = dict[str, Any]


@dataclass
class StatesTree:
    """What a store holds of a hybrid model: a state at every cut but those of the grid, logits at ends of prompts."""

    nodes: dict[tuple[int, Edge], int] = field(default_factory=dict)
    states: set[int] = field(default_factory=set)
    logits: set[int] = field(default_factory=set)

    def child(self, parent: int | None, edge: Edge) -> int | None:
        return self.nodes.get((parent or 0, edge))

    def restorable(self, node: int, *, at_end: bool) -> bool:
        return node in self.states and (not at_end or node in self.logits)

    def add(self, edges: Sequence[PlannedEdge]) -> int:
        parent = 0
        for planned in edges:
            parent = self.nodes.setdefault((parent, planned.edge), len(self.nodes) + 1)
            if planned.cut is not Cut.GRID:
                self.states.add(parent)
        return parent


@dataclass(frozen=True)
class Visit:
    """One prompt: what it was, and where it resumed."""

    prompt: Prompt
    text: str
    match: Match[int]
    messages: Sequence[Message]

    @property
    def reused(self) -> int:
        return self.match.position


class TemplateSession:
    """Asks and answers as the engine does, where the model writes what the template would write for it."""

    def __init__(self, vocabulary: Model, source: str, *, thinking: bool = True) -> None:
        self.vocabulary = vocabulary
        self.template = ChatTemplate(vocabulary, source)
        self.renderer = Renderer(vocabulary, self.template)
        self.thinking = thinking
        self.by_letters = False
        """Whether the model writes letter by letter, as re-tokenising its text never would."""
        self.tree = StatesTree()
        self.tools: list[dict[str, Any]] = []
        self.answers: list[tuple[Message, Answer]] = []

    def text(self, messages: Sequence[Message], *, generate: bool) -> str:
        request: dict[str, Any] = {"messages": list(messages), "now": 0, "enable_thinking": self.thinking}
        if self.tools:
            request["tools"] = self.tools
        text: str = self.template.render({**request, "add_generation_prompt": generate})["prompt"]
        return text

    def look(self, messages: Sequence[Message]) -> Visit:
        """Plan a prompt without reading it."""
        known = {
            index: answer
            for index, message in enumerate(messages)
            for said, answer in self.answers
            if said is message
        }
        prompt = self.renderer.render(messages, known, now=0, thinking=self.thinking, tools=self.tools)
        return Visit(prompt, self.text(messages, generate=True), find(self.tree, prompt), messages)

    def ask(self, messages: Sequence[Message], answer: Message, ids: array[int] | None = None) -> Visit:
        """Read a prompt and write ``answer`` under it, with these ids or its own."""
        visit = self.look(messages)
        edges = [*visit.match.edges, *remaining(visit.prompt, visit.match.edges, as_generated=False)]
        self.tree.logits.add(self.tree.add(edges))
        ids = self.written(messages, answer) if ids is None else ids
        whole = visit.prompt.ids + ids
        self.tree.add([*edges, *answer_edges(whole, len(visit.prompt.ids), len(whole))])
        self.answers.append((answer, Answer(ids, len(ids))))
        return visit

    def written(self, messages: Sequence[Message], answer: Message) -> array[int]:
        """Return what a model that keeps to its template writes for ``answer``, without its end of turn."""
        asked = self.text(messages, generate=True)
        whole = self.text([*messages, answer], generate=False)
        said = whole[len(asked) :] if whole.startswith(asked) else answer["content"]
        if whole.startswith(asked):
            probe = {"role": "assistant", "content": "qprobeq"}
            ending = self.text([*messages, probe], generate=False).split("qprobeq")[-1]
            said = said[: len(said) - len(ending)] if ending and said.endswith(ending) else said
        if not self.by_letters:
            return self.vocabulary.tokenize(said, special=True)
        return array(
            "i", [token for letter in said for token in self.vocabulary.tokenize(letter, special=False)]
        )
