"""Q8_0: 32 weights as one half-precision scale and 32 bytes, by the rule of ggml's reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 32


def to_q8_0(rows: NDArray[np.float32]) -> bytes:
    """Return rows, whose length is a multiple of 32, as Q8_0 blocks."""
    values = np.ascontiguousarray(rows, np.float32).reshape(-1, BLOCK)
    scale = np.abs(values).max(axis=1) / np.float32(127)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale > 0)
    scaled = values * inverse[:, None]
    # Halves go away from zero, as C's roundf has it.
    rounded = np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5))
    blocks = np.zeros(len(values), dtype=[("scale", "<f2"), ("values", "i1", BLOCK)])
    blocks["scale"] = scale
    blocks["values"] = rounded
    return blocks.tobytes()
