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
Tool = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """How conversations are put to the worker: as token ids or by the template, and whether it may open a thought."""

    by_ids: bool
    thinking: bool


@dataclass
class Dialogue:
    """Messages on a stage; branches are copies. ``tools`` are offered in every step."""

    stage: Stage
    manner: Manner
    messages: list[Message] = field(default_factory=list)
    answers: dict[int, RecordedAnswer] = field(default_factory=dict)
    tools: list[Tool] = field(default_factory=list)

    def branch(self, upto: int | None = None) -> Dialogue:
        """Return a copy of the first ``upto`` messages, with their answers."""
        messages = self.messages[:upto]
        kept = {index: answer for index, answer in self.answers.items() if index < len(messages)}
        return Dialogue(self.stage, self.manner, list(messages), kept, self.tools)

    def without(self, start: int, stop: int) -> Dialogue:
        """Return a copy without the messages ``[start, stop)``; later answers move up with their messages."""
        messages = self.messages[:start] + self.messages[stop:]
        kept = {
            index if index < start else index - (stop - start): answer
            for index, answer in self.answers.items()
            if not start <= index < stop
        }
        return Dialogue(self.stage, self.manner, messages, kept, self.tools)

    def edited(self, index: int, content: str) -> Dialogue:
        """Return a copy in which one message says something else."""
        copy = self.branch()
        copy.messages[index] = {**copy.messages[index], "content": content}
        return copy

    def add(self, role: str, content: str, **more: object) -> None:
        """Append a message."""
        self.messages.append({"role": role, "content": content, **more})

    def ask(
        self, label: str, *, max_tokens: int = MAX_TOKENS, cache: bool = True, tool_choice: str = "auto"
    ) -> Turn:
        """Have the conversation answered; the answer is not kept."""
        request = self.request(label, max_tokens=max_tokens, cache=cache, tool_choice=tool_choice)
        return self.stage.run(request, label)

    def request(
        self, label: str, *, max_tokens: int = MAX_TOKENS, cache: bool = True, tool_choice: str = "auto"
    ) -> StepRequest:
        """Return the request that has the conversation answered."""
        return step_request(
            label,
            self.messages,
            self.answers,
            self.manner,
            max_tokens=max_tokens,
            cache=cache,
            tools=self.tools,
            tool_choice=tool_choice,
        )

    def say(self, content: str, label: str) -> Turn:
        """Append a user's message, have it answered, and keep the answer with its ledger."""
        self.add("user", content)
        turn = self.ask(label)
        self.keep(turn)
        return turn

    def keep(self, turn: Turn) -> None:
        """Append a turn's answer, with its calls and how it was fed."""
        reply = turn.reply
        message: Message = {"role": "assistant", "content": reply.text}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.calls
            ]
        self.answers[len(self.messages)] = reply.recorded()
        self.messages.append(message)


def step_request(
    label: str,
    messages: Sequence[Message],
    answers: Mapping[int, RecordedAnswer],
    manner: Manner,
    *,
    max_tokens: int = MAX_TOKENS,
    cache: bool = True,
    tools: Sequence[Tool] = (),
    tool_choice: str = "auto",
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
        tools=list(tools),
        tool_choice=tool_choice,
    )


def replay_request(turn: Turn) -> ReplayRequest:
    """Return the request that computes a turn's answer again from scratch, by its own ledger."""
    reply = turn.reply
    return ReplayRequest(
        session=SESSION,
        turn=f"replay of {turn.label}",
        ids=array("i", reply.ids),
        prompt_tokens=reply.prompt_tokens,
        schedule=list(reply.schedule),
        sampling=GREEDY,
        digest_logits=True,
        redrawn=reply.redrawn,
        ended=turn.ended,
    )
