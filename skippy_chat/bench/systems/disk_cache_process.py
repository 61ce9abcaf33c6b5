"""The process that holds llama-cpp-python's own class: requests in, answers out, one line of JSON each.

What is counted is what it passes on to be computed before the first token: tokens given to its ``eval``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from llama_cpp import Llama
from llama_cpp.llama_cache import LlamaDiskCache


def serve(lines: Iterator[str], out: TextIO, clock: Callable[[], float]) -> None:
    """Load what the first line says, then answer the others."""
    settings = json.loads(next(lines))
    model = Llama(
        settings["model"],
        n_ctx=settings["context"],
        n_batch=settings["ubatch"],
        n_ubatch=settings["ubatch"],
        n_threads=settings["threads"],
        n_threads_batch=settings["threads"],
        n_gpu_layers=0,
        flash_attn=True,
        verbose=False,
    )
    model.set_cache(LlamaDiskCache(settings["cache"]))
    read = Counter(model.eval)
    model.eval = read
    _put(out, {"ready": True})
    for line in lines:
        request = json.loads(line)
        try:
            _put(out, _answer(model, read, request, clock))
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            _put(out, {"error": f"{type(error).__name__}: {error}"})


class Counter:
    """Counts the tokens that are passed on."""

    def __init__(self, work: Callable[[Any], None]) -> None:
        self.tokens = 0
        self._work = work

    def __call__(self, tokens: Any) -> None:
        """Count and pass on."""
        self.tokens += len(tokens)
        self._work(tokens)


def _answer(model: Any, read: Counter, request: dict[str, Any], clock: Callable[[], float]) -> dict[str, Any]:
    read.tokens = 0
    began = clock()
    first, before = None, 0
    for _chunk in model.create_completion(
        request["ids"], max_tokens=request["max_tokens"], temperature=0.0, stream=True
    ):
        if first is None:
            first, before = clock() - began, read.tokens
    return {"read": before, "first_token": first}


def _put(out: TextIO, value: dict[str, Any]) -> None:
    out.write(json.dumps(value) + "\n")
    out.flush()


def main() -> int:
    """Serve on standard input; what anything prints goes to standard error, so that the answers stay clean."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(iter(sys.stdin), answers, time.monotonic)
    return 0


if __name__ == "__main__":
    sys.exit(main())
