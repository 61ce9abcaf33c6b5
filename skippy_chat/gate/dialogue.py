"""A conversation as the product keeps it: messages, and for each answer the ids and how many of them were fed.

Answers are greedy and short, and nothing depends on what they say: a later prompt carries them as they were fed.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skippy_chat.engine.protocol import RecordedAnswer, ReplayRequest, StepRequest
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.sampling import Sampling

GREEDY = Sampling(temperature=0.0)
SESSION = "gate"
MAX_TOKENS = 6
PINNED_TIME = 1_700_000_000
"""Seconds since the epoch for templates that print a date: a run over midnight is one conversation."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """How conversations are put to the worker: as token ids or by the template, and whether it may open a thought."""

    by_ids: bool
    thinking: bool


@dataclass
class Dialogue:
    """Messages on a stage; branches are copies."""

    stage: Stage
    manner: Manner
    messages: list[Message] = field(default_factory=list)
    answers: dict[int, RecordedAnswer] = field(default_factory=dict)

    def branch(self, upto: int | None = None) -> Dialogue:
        """Return a copy of the first ``upto`` messages, with their answers."""
        messages = self.messages[:upto]
        kept = {index: answer for index, answer in self.answers.items() if index < len(messages)}
        return Dialogue(self.stage, self.manner, list(messages), kept)

    def without(self, start: int, stop: int) -> Dialogue:
        """Return a copy without the messages ``[start, stop)``; later answers move up with their messages."""
        messages = self.messages[:start] + self.messages[stop:]
        kept = {
            index if index < start else index - (stop - start): answer
            for index, answer in self.answers.items()
            if not start <= index < stop
        }
        return Dialogue(self.stage, self.manner, messages, kept)

    def edited(self, index: int, content: str) -> Dialogue:
        """Return a copy in which one message says something else."""
        copy = self.branch()
        copy.messages[index] = {**copy.messages[index], "content": content}
        return copy

    def add(self, role: str, content: str, **more: object) -> None:
        """Append a message."""
        self.messages.append({"role": role, "content": content, **more})

    def ask(self, label: str, *, max_tokens: int = MAX_TOKENS, cache: bool = True) -> Turn:
        """Have the conversation answered; the answer is not kept."""
        return self.stage.run(
            step_request(label, self.messages, self.answers, self.manner, max_tokens=max_tokens, cache=cache),
            label,
        )

    def say(self, content: str, label: str) -> Turn:
        """Append a user's message, have it answered, and keep the answer with its ledger."""
        self.add("user", content)
        turn = self.ask(label)
        self.keep(turn)
        return turn

    def keep(self, turn: Turn) -> None:
        """Append a turn's answer, with how it was fed."""
        self.answers[len(self.messages)] = turn.reply.recorded()
        self.messages.append({"role": "assistant", "content": turn.reply.text})


def step_request(
    label: str,
    messages: Sequence[Message],
    answers: Mapping[int, RecordedAnswer],
    manner: Manner,
    *,
    max_tokens: int = MAX_TOKENS,
    cache: bool = True,
) -> StepRequest:
    """Return the request that has a conversation answered."""
    return StepRequest(
        session=SESSION,
        turn=label,
        messages=list(messages),
        sampling=GREEDY,
        answers=dict(answers),
        max_tokens=max_tokens,
        now=PINNED_TIME,
        thinking=manner.thinking,
        cache=cache,
        by_ids=manner.by_ids,
        digest_logits=True,
    )


def replay_request(turn: Turn) -> ReplayRequest:
    """Return the request that computes a turn's answer again from scratch, by its own ledger."""
    reply = turn.reply
    ids = array("i", reply.ids)
    if reply.finish_reason == "stop" and turn.answer:
        # The row that its end token was chosen from is in the digest too; a replay goes as far as there are ids.
        ids.append(0)
    return ReplayRequest(
        session=SESSION,
        turn=f"replay of {turn.label}",
        ids=ids,
        prompt_tokens=reply.prompt_tokens,
        schedule=list(reply.schedule),
        sampling=GREEDY,
        digest_logits=True,
    )
