"""A conversation as a face would hold it: messages, and what was fed for each answer; values that are never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skippy_chat.engine.protocol import RecordedAnswer, StepReply


@dataclass(frozen=True, slots=True)
class Dialogue:
    """``messages`` are (role, content); ``answers`` maps message indices to what was recorded for them."""

    messages: tuple[tuple[str, str], ...] = ()
    answers: Mapping[int, RecordedAnswer] = field(default_factory=dict)

    def said(self, role: str, content: str) -> Dialogue:
        """Return the conversation with one more message."""
        return Dialogue((*self.messages, (role, content)), self.answers)

    def answered(self, reply: StepReply) -> Dialogue:
        """Return the conversation with the answer that a step gave."""
        answers = {**self.answers, len(self.messages): reply.recorded()}
        return Dialogue((*self.messages, ("assistant", reply.text)), answers)

    def until(self, count: int) -> Dialogue:
        """Return the first ``count`` messages."""
        return Dialogue(self.messages[:count], {i: a for i, a in self.answers.items() if i < count})

    def changed(self, index: int, content: str) -> Dialogue:
        """Return the conversation with another content at ``index``."""
        role = self.messages[index][0]
        messages = (*self.messages[:index], (role, content), *self.messages[index + 1 :])
        return Dialogue(messages, self.answers)

    def without(self, start: int, stop: int) -> Dialogue:
        """Return the conversation without the messages ``[start, stop)``."""
        kept = [i for i in range(len(self.messages)) if not start <= i < stop]
        answers = {new: self.answers[old] for new, old in enumerate(kept) if old in self.answers}
        return Dialogue(tuple(self.messages[i] for i in kept), answers)
