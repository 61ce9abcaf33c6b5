"""The base model's own answers to the questions of the chat part: the greedy one, and one drawn at temperature 1.

What is learnt of them is the base's distribution, so the drawn ones only have to be many and various; whatever goes
round in circles is left out. Written line by line, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from skippy_chat.native import library
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.model import Model
from skippy_chat.native.sampler import Sampler
from skippy_chat.sampling import Sampling
from training.cases import DATA
from training.lines import append_line, read_lines
from training.quiet import ChatPair

ANSWERS = DATA / "chat_answers.jsonl"
HOW = ("greedy", "sampled")
PROMPT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
_MOST = 110  # tokens
_CONTEXT = 256


def load_answers(path: Path = ANSWERS) -> list[ChatPair]:
    """Return the pairs that are fit to learn from."""
    stored = read_lines(path)
    return [ChatPair(each["question"], each["answer"]) for each in stored if each["answer"]]


def write_answers(
    base: Path,
    questions: Sequence[str],
    path: Path,
    *,
    threads: int,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Write the answers that are missing, greedy ones first, for so many seconds; returns how many are left."""
    known = {(each["question"], each["how"]) for each in read_lines(path)}
    left = [(question, how) for how in HOW for question in questions if (question, how) not in known]
    if not left:
        return 0
    until = clock() + seconds
    model = Model(library.load(), base)
    context = Context(model, ContextOptions(_CONTEXT, _CONTEXT, _CONTEXT, threads, flash_attention="on"))
    try:
        while left and clock() < until:
            question, how = left.pop(0)
            text = answer(model, context, question, sampled=how == "sampled")
            append_line(path, {"question": question, "how": how, "answer": "" if circles(text) else text})
    finally:
        context.close()
        model.close()
    return len(left)


def answer(model: Model, context: Context, question: str, *, sampled: bool = False) -> str:
    """Return an answer without tools; of one that is cut, the whole sentences.

    A sampled one is drawn at temperature 1, with a seed made from the question.
    """
    prompt = model.tokenize(PROMPT.format(question), special=True)
    context.clear()
    context.decode(prompt, 0, logits=True)
    seed = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "little")
    sampling = Sampling(temperature=1.0 if sampled else 0.0, top_k=0, top_p=1.0, min_p=0.0, seed=seed)
    sampler = Sampler(model.library, sampling, model.n_vocab)
    ids: list[int] = []
    while len(ids) < _MOST:
        token = sampler.choose(context.logits())
        if model.is_end(token):
            break
        ids.append(token)
        context.decode([token], len(prompt) + len(ids) - 1, logits=True)
    sampler.close()
    text = model.detokenize(ids).strip()
    if len(ids) == _MOST:
        text = text[: max(text.rfind(mark) for mark in (". ", "! ", "? ", ".\n")) + 1]
    return text


def circles(text: str) -> bool:
    """Return whether a text says the same thing again and again."""
    words = text.lower().split()
    runs = [tuple(words[start : start + 4]) for start in range(len(words) - 3)]
    return len(runs) > 8 and len(set(runs)) < 0.8 * len(runs)
