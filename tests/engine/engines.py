"""Real engines on real weights for tests, driven by token ids where a model has only a test tokenizer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skippy_chat.checkpoints.placement import GRID_TOKENS
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Identity
from skippy_chat.engine.engine import Engine
from skippy_chat.engine.ids import prompt_of_ids
from skippy_chat.engine.protocol import RecordedAnswer, ReplayRequest, StepReply, StepRequest
from skippy_chat.engine.rendering import Answer, Asked, Renderer, Rendering
from skippy_chat.events import Event, StepFinished
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from skippy_chat.sampling import Sampling

GREEDY = Sampling(temperature=0.0)


class IdsRenderer:
    """Takes messages whose content is token ids as text, and puts stand-in delimiters around them."""

    def ask(
        self, messages: Sequence[dict[str, Any]], answers: Mapping[int, Answer], asked: Asked
    ) -> Rendering:
        return Rendering(prompt_of_ids(messages, answers), {})

    def writes_ids(self) -> bool:
        return False


@dataclass
class Result:
    """A step's reply with its events and every row of logits that was sampled from."""

    reply: StepReply
    events: list[Event]
    logits: list[tuple[int, NDArray[np.float32]]]

    @property
    def finished(self) -> StepFinished:
        return next(event for event in self.events if isinstance(event, StepFinished))

    @property
    def counts(self) -> tuple[int, int, int]:
        """Prompt, cached and prefilled tokens."""
        usage = self.finished.usage
        return usage.prompt_tokens, usage.cached_tokens, usage.prefilled_tokens


def message_of(reply: StepReply) -> dict[str, Any]:
    """Return an answer as later prompts carry it."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls and not reply.malformed:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message


@dataclass
class Bench:
    """An engine with a conversation as a face would hold it."""

    engine: Engine
    messages: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[int, RecordedAnswer] = field(default_factory=dict)

    def step(self, *, max_tokens: int = 6, **more: Any) -> Result:
        sampling = more.pop("sampling", GREEDY)
        request = StepRequest("s", "t", list(self.messages), sampling, dict(self.answers), max_tokens, **more)
        return self._collect(lambda emit: self.engine.step(request, emit))

    def replay(self, reply: StepReply, **more: Any) -> Result:
        request = ReplayRequest(
            "s",
            "t",
            reply.ids,
            reply.prompt_tokens,
            reply.schedule,
            more.pop("sampling", GREEDY),
            redrawn=reply.redrawn,
            ended=reply.finish_reason in {"stop", "tool_calls"},
            **more,
        )
        return self._collect(lambda emit: self.engine.replay(request, emit))

    def say(self, content: str, **more: Any) -> Result:
        """Add a user's message, answer it, and keep the answer with its ledger."""
        self.messages.append({"role": "user", "content": content})
        result = self.step(**more)
        self.keep(result.reply)
        return result

    def keep(self, reply: StepReply) -> None:
        self.answers[len(self.messages)] = reply.recorded()
        self.messages.append(message_of(reply))

    def _collect(self, run: Any) -> Result:
        events: list[Event] = []
        logits: list[tuple[int, NDArray[np.float32]]] = []
        self.engine.on_logits = lambda position, row: logits.append((position, row.copy()))
        reply = run(events.append)
        self.engine.flush()
        return Result(reply, events, logits)


def make_engine(
    model_path: Path,
    store_root: Path | None,
    *,
    threads: int = 1,
    flash_attention: str = "on",
    n_ctx: int = 2048,
    by_ids: bool = True,
    budget: int = 1 << 30,
    kv_type: str = "f16",
) -> Engine:
    """Load a model as the product does, except that identity is the file's name and the options."""
    model = Model(load(), model_path)
    options = ContextOptions(n_ctx, GRID_TOKENS, GRID_TOKENS, threads, flash_attention, kv_type)
    context = Context(model, options)
    store = None
    if store_root is not None:
        identity = Identity.of(model=model_path.name, flash_attention=flash_attention, kv=kv_type)
        store = CheckpointStore.open(store_root, identity, budget_bytes=budget, now=time.time)
    renderer: Any = IdsRenderer() if by_ids else Renderer(model, ChatTemplate(model))
    return Engine(model, context, renderer, store)


def numbers(seed: int, count: int, n_vocab: int = 128) -> str:
    """Return ``count`` token ids as text."""
    generator = np.random.default_rng(seed)
    return " ".join(str(token) for token in generator.integers(10, n_vocab, count))


def same_logits(first: Result, second: Result) -> bool:
    """Whether both sampled from the same rows, bit for bit, at the same positions."""
    return len(first.logits) == len(second.logits) > 0 and all(
        mine[0] == theirs[0] and mine[1].tobytes() == theirs[1].tobytes()
        for mine, theirs in zip(first.logits, second.logits, strict=True)
    )
