"""A conversation as the product keeps it: messages, and for each answer the ids and how many of them were fed.

Invariant: values never change; what is said, edited or left out gives another dialogue, and answers stay with their
messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from skippy_chat.engine.protocol import RecordedAnswer, StepReply

Message: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """``messages`` are what templates get; ``answers`` maps their indices to what was recorded for them."""

    messages: tuple[Message, ...] = ()
    answers: Mapping[int, RecordedAnswer] = field(default_factory=dict)

    def said(self, role: str, content: str, **more: object) -> Dialogue:
        """Return the conversation with one more message."""
        return Dialogue((*self.messages, {"role": role, "content": content, **more}), self.answers)

    def answered(self, reply: StepReply) -> Dialogue:
        """Return the conversation with the answer that a step gave, with its calls."""
        answers = {**self.answers, len(self.messages): reply.recorded()}
        return Dialogue((*self.messages, _answer(reply)), answers)

    def until(self, count: int | None) -> Dialogue:
        """Return the first ``count`` messages; all of them for None."""
        messages = self.messages[:count]
        return Dialogue(messages, {i: a for i, a in self.answers.items() if i < len(messages)})

    def changed(self, index: int, content: str) -> Dialogue:
        """Return the conversation with another content at ``index``, which is not negative."""
        message = {**self.messages[index], "content": content}
        return Dialogue((*self.messages[:index], message, *self.messages[index + 1 :]), self.answers)

    def without(self, start: int, stop: int) -> Dialogue:
        """Return the conversation without the messages ``[start, stop)``; later answers move up with theirs."""
        kept = [i for i in range(len(self.messages)) if not start <= i < stop]
        answers = {new: self.answers[old] for new, old in enumerate(kept) if old in self.answers}
        return Dialogue(tuple(self.messages[i] for i in kept), answers)


def _answer(reply: StepReply) -> Message:
    message: Message = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message
