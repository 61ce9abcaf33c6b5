"""A branch that nobody trained: weights from a seed, for the tests that need a branch of any shape.

Invariant: the same bits on every machine and with every numpy; integer arithmetic and single IEEE operations only, no
random library and no libm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from skippy_chat.models.branch import BranchShape, LayerBranch


@dataclass(frozen=True, slots=True)
class SeededBranch:
    """Weights from a fixed seed: too small to change the words, large enough that a lost state shows."""

    shape: BranchShape
    seed: int
    gains: tuple[float, ...] = ()

    def layer(self, index: int, width: int) -> LayerBranch:
        """Return layer ``index``; memories reach from about 1 to about 150 tokens back, by head."""
        shape = self.shape
        gain = self.gains[index] if index < len(self.gains) else 1.0
        streams = iter(range(1 << 8))

        def normal(*sizes: int, deviation: float) -> NDArray[np.float32]:
            key = (self.seed << 24) + (index << 8) + next(streams)
            return _bell(key, sizes, deviation)

        heads = np.arange(shape.heads, dtype=np.float32)
        ones = np.ones((shape.heads, 1), dtype=np.float32)
        return LayerBranch(
            project_in=normal(shape.projection_rows, width, deviation=gain / sqrt(width)).astype(np.float16),
            conv_weight=normal(shape.conv_rows, shape.conv, deviation=0.5),
            conv_bias=np.zeros(shape.conv_rows, dtype=np.float32),
            dt_bias=-heads,
            decay=-ones,
            skip=ones,
            project_out=normal(width, shape.inner, deviation=0.3 / sqrt(shape.inner)).astype(np.float16),
            norm=np.ones((shape.groups, shape.inner // shape.groups), np.float32)
            if shape.gated_norm
            else None,
        )


def seeded_branch(shape: BranchShape, seed: int, gains: tuple[float, ...] = ()) -> SeededBranch:
    """Return the branch of ``shape`` that ``seed`` stands for.

    ``gains`` multiplies the input projection, by layer (1 where not given): where the base's norm makes a layer's
    input faint, it brings x, B and C back to a size at which the state, their product, is not lost in rounding.
    """
    return SeededBranch(shape, seed, gains)


def _bell(key: int, sizes: tuple[int, ...], deviation: float) -> NDArray[np.float32]:
    """Return near-normal numbers (the sum of four 16-bit uniforms) of mean 0 and the given deviation."""
    count = int(np.prod(sizes))
    bits = _mixed(np.arange(count, dtype=np.uint64) + np.uint64(_mixed_int(key)))
    total = np.zeros(count, dtype=np.int64)
    for shift in (0, 16, 32, 48):
        total += ((bits >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64)
    centred = (2 * total - 4 * 0xFFFF).astype(np.float64)  # an exact integer, of deviation 2^17 / sqrt(3)
    return (centred * (deviation * sqrt(3) / (1 << 17))).astype(np.float32).reshape(sizes)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return ``values`` through the SplitMix64 finaliser; arithmetic wraps."""
    first: NDArray[np.uint64] = values * np.uint64(0x9E3779B97F4A7C15)
    second: NDArray[np.uint64] = (first ^ (first >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    third: NDArray[np.uint64] = (second ^ (second >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = third ^ (third >> np.uint64(31))
    return mixed


def _mixed_int(key: int) -> int:
    return int(_mixed(np.array([key & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64))[0])
