"""A model beside its base: bits per token on held-out chat, speed, and answers side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from statistics import median

import numpy as np

from skippy_chat.native import library
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.model import Model
from training.answers import PROMPT, answer
from training.questions import held_out_chat

_READ, _WRITTEN, _ROUNDS = 512, 64, 5


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second, medians."""

    prefill: float
    decode: float


class Measured:
    """A model with one context; owned by one thread, closed once."""

    def __init__(self, path: Path, threads: int) -> None:
        self._model = Model(library.load(), path)
        self._context = Context(self._model, ContextOptions(1024, 512, 512, threads, flash_attention="on"))

    def close(self) -> None:
        """Free it."""
        self._context.close()
        self._model.close()

    def bits(self) -> float:
        """Return the mean bits per token of the held-out answers, their end included."""
        total, count = 0.0, 0
        for question, text in held_out_chat():
            prompt = self._model.tokenize(PROMPT.format(question), special=True)
            ids = [
                *self._model.tokenize(text, special=False),
                *self._model.tokenize("<|im_end|>", special=True),
            ]
            self._context.clear()
            self._context.decode(prompt, 0, logits=True)
            for index, token in enumerate(ids):
                logits = self._context.logits().astype(np.float64)
                top = logits.max()
                total += (top + np.log(np.exp(logits - top).sum()) - logits[token]) * log2(np.e)
                count += 1
                self._context.decode([token], len(prompt) + index, logits=True)
        return total / count

    def round(self, clock: Callable[[], float]) -> Speed:
        """Time one reading of 512 tokens and 64 single steps behind it."""
        ids = [1000 + index % 997 for index in range(_READ)]
        self._context.clear()
        began = clock()
        self._context.decode(ids, 0, logits=True)
        read = clock()
        for step in range(_WRITTEN):
            self._context.decode([2000 + step], _READ + step, logits=True)
        return Speed(_READ / (read - began), _WRITTEN / (clock() - read))

    def answer(self, question: str) -> str:
        """Return the greedy answer to a question, without tools."""
        return answer(self._model, self._context, question)


def compare(
    base: Path,
    model: Path,
    prompts: Sequence[str],
    *,
    threads: int,
    clock: Callable[[], float] = time.perf_counter,
) -> str:
    """Return the comparison as Markdown; the two are timed in turns, so that both meet the same noise."""
    pair = Measured(base, threads), Measured(model, threads)
    try:
        bits = [each.bits() for each in pair]
        rounds = [[each.round(clock) for each in pair] for _ in range(_ROUNDS)]
        answers = [[each.answer(prompt) for each in pair] for prompt in prompts]
    finally:
        for each in pair:
            each.close()
    prefill = [median(speeds[side].prefill for speeds in rounds) for side in (0, 1)]
    decode = [median(speeds[side].decode for speeds in rounds) for side in (0, 1)]
    lines = [
        "| what | base | this model | |",
        "|---|---|---|---|",
        f"| bits per token, held-out chat | {bits[0]:.3f} | {bits[1]:.3f} | {100 * (bits[1] / bits[0] - 1):+.1f} % |",
        f"| prefill, tokens/s | {prefill[0]:.0f} | {prefill[1]:.0f} | {100 * prefill[1] / prefill[0]:.0f} % |",
        f"| decode, tokens/s | {decode[0]:.1f} | {decode[1]:.1f} | {100 * decode[1] / decode[0]:.0f} % |",
    ]
    for prompt, (one, two) in zip(prompts, answers, strict=True):
        lines += ["", f"**{prompt}**", "", f"- base: {_flat(one)}", f"- this model: {_flat(two)}"]
    return "\n".join(lines)


def _flat(text: str) -> str:
    return " ".join(text.split()) or "(nothing)"
