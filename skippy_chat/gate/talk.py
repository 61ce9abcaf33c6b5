"""What the gate says, and how it is asked: answers are greedy and short, and nothing depends on what they say."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

from skippy_chat.dialogues.dialogue import Dialogue, Message
from skippy_chat.engine.protocol import ReplayRequest, StepRequest
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.sampling import Sampling

GREEDY = Sampling(temperature=0.0)
SESSION = "gate"
MAX_TOKENS = 6
PINNED_TIME = 1_700_000_000
"""Seconds since the epoch for templates that print a date: a run over midnight is one conversation."""

Tool = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """How conversations are put to the worker: as token ids or by the template, and whether it may open a thought."""

    by_ids: bool
    thinking: bool


@dataclass
class Talk:
    """A dialogue on a stage; branches are copies. ``tools`` are offered in every step."""

    stage: Stage
    manner: Manner
    dialogue: Dialogue = field(default_factory=Dialogue)
    tools: list[Tool] = field(default_factory=list)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said so far."""
        return self.dialogue.messages

    def branch(self, upto: int | None = None) -> Talk:
        """Return a copy of the first ``upto`` messages, with their answers."""
        return self._with(self.dialogue.until(upto))

    def without(self, start: int, stop: int) -> Talk:
        """Return a copy without the messages ``[start, stop)``; later answers move up with their messages."""
        return self._with(self.dialogue.without(start, stop))

    def edited(self, index: int, content: str) -> Talk:
        """Return a copy in which one message says something else."""
        return self._with(self.dialogue.changed(index, content))

    def add(self, role: str, content: str, **more: object) -> None:
        """Append a message."""
        self.dialogue = self.dialogue.said(role, content, **more)

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
        return StepRequest(
            session=SESSION,
            turn=label,
            messages=list(self.dialogue.messages),
            sampling=GREEDY,
            answers=dict(self.dialogue.answers),
            max_tokens=max_tokens,
            now=PINNED_TIME,
            thinking=self.manner.thinking,
            cache=cache,
            by_ids=self.manner.by_ids,
            digest_logits=True,
            tools=list(self.tools),
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
        self.dialogue = self.dialogue.answered(turn.reply)

    def _with(self, dialogue: Dialogue) -> Talk:
        return Talk(self.stage, self.manner, dialogue, self.tools)


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
