"""The base model's own greedy answers to the questions of the chat part; loops and cut ones are left out.

Written line by line, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from skippy_chat.native import library
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.model import Model
from training.cases import DATA
from training.quiet import ChatPair

ANSWERS = DATA / "chat_answers.jsonl"
PROMPT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
_MOST = 110  # tokens
_CONTEXT = 256


def load_answers(path: Path = ANSWERS) -> list[ChatPair]:
    """Return the pairs that are fit to learn from."""
    lines = path.read_text(encoding="utf-8").splitlines()
    stored = [json.loads(line) for line in lines]
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
    """Answer questions that have no answer yet, for so many seconds; returns how many are left."""
    known = (
        {json.loads(line)["question"] for line in path.read_text(encoding="utf-8").splitlines()}
        if path.exists()
        else set()
    )
    left = [question for question in questions if question not in known]
    if not left:
        return 0
    until = clock() + seconds
    model = Model(library.load(), base)
    context = Context(model, ContextOptions(_CONTEXT, _CONTEXT, _CONTEXT, threads, flash_attention="on"))
    try:
        with path.open("a", encoding="utf-8") as file:
            while left and clock() < until:
                question = left.pop(0)
                text = answer(model, context, question)
                fit = "" if circles(text) else text
                file.write(json.dumps({"question": question, "answer": fit}, ensure_ascii=False) + "\n")
                file.flush()
    finally:
        context.close()
        model.close()
    return len(left)


def answer(model: Model, context: Context, question: str) -> str:
    """Return the greedy answer to a question without tools; of one that is cut, the whole sentences."""
    prompt = model.tokenize(PROMPT.format(question), special=True)
    context.clear()
    context.decode(prompt, 0, logits=True)
    ids: list[int] = []
    while len(ids) < _MOST:
        token = int(context.logits().argmax())
        if model.is_end(token):
            break
        ids.append(token)
        context.decode([token], len(prompt) + len(ids) - 1, logits=True)
    text = model.detokenize(ids).strip()
    if len(ids) == _MOST:
        text = text[: max(text.rfind(mark) for mark in (". ", "! ", "? ", ".\n")) + 1]
    return text


def circles(text: str) -> bool:
    """Return whether a text says the same thing again and again."""
    words = text.lower().split()
    runs = [tuple(words[start : start + 4]) for start in range(len(words) - 3)]
    return len(runs) > 8 and len(set(runs)) < 0.8 * len(runs)
