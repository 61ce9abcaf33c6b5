"""Conversations as token ids, by the product's own template and tokeniser, with what each token counts.

An answer is tokenised apart from the prompt before it, as the product does it: the end of a generation prompt is always
a border between tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skippy_chat.agent.tools.built_in import built_in_tools
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.models.default import default_label
from skippy_chat.native import library
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.model import Model
from training.conversation import Conversation

LONGEST = 420  # tokens of a row; the few longer ones are left out
_END = "<|im_end|>\n"
_ANSWER = re.compile(r"(?<=<\|im_start\|>assistant\n)(.*?<\|im_end\|>)", re.DOTALL)
_ARGUMENTS = re.compile(r'"arguments": (\{.*?\})\}\n</tool_call>', re.DOTALL)
_ARGUMENT_WEIGHT = 2.0
_QUESTION_WEIGHT = 0.5  # of a question in plain chat: more of the base's distribution to keep


@dataclass(frozen=True, slots=True)
class Row:
    """One conversation behind the system prompt; ``weights[i]`` is what predicting ``ids[i]`` counts, 0 for prompts."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]
    keeps_base: bool


@dataclass(frozen=True, slots=True)
class Encoded:
    """A batch: the system prompt's ids, those of the same prompt without tools, and the rows."""

    prefix: tuple[int, ...]
    plain_prefix: tuple[int, ...]
    rows: tuple[Row, ...]


class Encoder:
    """Renders and tokenises; owned by one thread, closed once."""

    def __init__(self, base: Path) -> None:
        """Load the vocabulary of the base model and the default model's template."""
        self._model = Model(library.load(), base, vocab_only=True)
        self._template = ChatTemplate(self._model, default_label().chat_template)

    def close(self) -> None:
        """Free both."""
        self._template.close()
        self._model.close()

    def encode(
        self, persona: str | None, tools: Sequence[str], conversations: Sequence[Conversation]
    ) -> Encoded:
        """Return a batch as ids; conversations longer than LONGEST are left out."""
        rows = [self._row(persona, tools, conversation) for conversation in conversations]
        return Encoded(
            tuple(self.tokens(self._prefix(persona, tools))),
            tuple(self.tokens(self._prefix(persona, ()))),
            tuple(row for row in rows if len(row.ids) <= LONGEST),
        )

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, control tokens too."""
        return self._model.spell(ids)

    def tokens(self, text: str) -> list[int]:
        """Return the ids of a piece of a prompt, control tokens as such."""
        return list(self._model.tokenize(text, special=True))

    def _prefix(self, persona: str | None, tools: Sequence[str]) -> str:
        text = self._render(persona, tools, [{"role": "user", "content": "x"}])
        return text[: text.index(_END) + len(_END)]

    def _render(self, persona: str | None, tools: Sequence[str], messages: Sequence[dict[str, Any]]) -> str:
        request: dict[str, Any] = {"messages": list(messages), "now": 0, "add_generation_prompt": False}
        if persona is not None:
            request["messages"].insert(0, {"role": "system", "content": persona})
        if tools:
            schemas = Registry(built_in_tools(tools)).schemas()
            request["tools"] = [{"type": "function", "function": schema} for schema in schemas]
        prompt: str = self._template.render(request)["prompt"]
        return prompt

    def _row(self, persona: str | None, tools: Sequence[str], conversation: Conversation) -> Row:
        prefix = self._prefix(persona, tools)
        messages = [_wired(message) for message in conversation.messages]
        text = self._render(persona, tools, messages)
        assert text.startswith(prefix)
        ids: list[int] = []
        weights: list[float] = []
        for index, piece in enumerate(_ANSWER.split(text[len(prefix) :])):
            tokens = self.tokens(piece)
            ids += tokens
            if index % 2:
                weights += self._weights(piece, tokens)
            else:
                kept = conversation.goal == "base" and not tools
                weights += [_QUESTION_WEIGHT if kept else 0.0] * len(tokens)
        return Row(tuple(ids), tuple(weights), conversation.goal == "base")

    def _weights(self, piece: str, tokens: Sequence[int]) -> list[float]:
        """Return what the tokens of an answer count: arguments of calls more, for they must be right to the letter."""
        spans = [match.span(1) for match in _ARGUMENTS.finditer(piece)]
        raw_spans = [(len(piece[:a].encode()), len(piece[:b].encode())) for a, b in spans]
        weights, position = [], 0
        for token in tokens:
            after = position + len(self._model.piece(token) or self._model.spell([token]).encode())
            inside = any(position < end and after > start for start, end in raw_spans)
            weights.append(_ARGUMENT_WEIGHT if inside else 1.0)
            position = after
        return weights


def _wired(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as the template takes it: the arguments of calls as JSON text."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    wired = [
        {
            **call,
            "function": {
                **call["function"],
                "arguments": json.dumps(call["function"]["arguments"], ensure_ascii=False),
            },
        }
        for call in calls
    ]
    return {**message, "tool_calls": wired}
