"""Which numbers the matrix products of a run are in: the faster ones on the processor there is.

Processors that do not multiply bfloat16 compute it at an eighth of float32's speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch.nn import functional

_TOKENS, _WIDTH, _INNER = 512, 576, 1536  # of one of the base's products
_TRIES = 5
_WORTH = 1.15  # float32 loses nothing, so the other must be faster by more than chance


def fastest(cost: Callable[[torch.dtype], float] | None = None) -> torch.dtype:
    """Return bfloat16 where ``cost`` (by default the seconds of one product) says that it pays, else float32."""
    cost = cost or _seconds
    pays = cost(torch.bfloat16) * _WORTH < cost(torch.float32)
    return torch.bfloat16 if pays else torch.float32


def _seconds(precision: torch.dtype) -> float:
    given = torch.ones(_TOKENS, _WIDTH, dtype=precision)
    weights = torch.ones(_INNER, _WIDTH, dtype=precision)
    taken = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        functional.linear(given, weights)
        taken.append(time.perf_counter() - began)
    return min(taken)
