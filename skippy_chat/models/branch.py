"""The Mamba-2 branch that is put beside every attention layer: its shape and its weights.

Kept apart from the code that writes them into a model, so that a trained branch can take its place.
Invariant: ``seeded_branch`` gives the same bits on every machine and with every numpy, so that the file made
from it has one known digest; it uses integer arithmetic and single IEEE operations only, no random library and
no libm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class BranchShape:
    """The sizes of one layer's branch; ``inner`` is shared out evenly among ``heads`` and ``groups``."""

    inner: int = 192
    state: int = 32
    heads: int = 6
    groups: int = 1
    conv: int = 4
    gated_norm: bool = False

    def __post_init__(self) -> None:
        if min(self.inner, self.state, self.heads, self.groups) < 1 or self.conv < 2:
            raise ValueError("a branch needs sizes of at least 1, and a convolution of at least 2")
        if self.inner % self.heads or self.inner % self.groups or self.heads % self.groups:
            raise ValueError(
                f"{self.inner} rows cannot be shared by {self.heads} heads, {self.groups} groups"
            )

    @property
    def conv_rows(self) -> int:
        """The rows that pass through the convolution: x, B and C."""
        return self.inner + 2 * self.groups * self.state

    @property
    def projection_rows(self) -> int:
        """The rows of the input projection, ordered z, x, B, C, dt."""
        return self.inner + self.conv_rows + self.heads


@dataclass(frozen=True, slots=True)
class PackedRows:
    """A quantised array as a file has it; ``shape`` is outermost first, ``type_id`` ggml's number of the type."""

    shape: tuple[int, ...]
    type_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LayerBranch:
    """One layer's weights, outermost dimension first; float16 arrays are stored as F16, float32 as F32.

    The two projections may be quantised.

    ``project_in`` (projection rows, width), ``conv_weight`` (conv rows, conv), ``conv_bias`` (conv rows),
    ``dt_bias`` (heads), ``decay`` (heads, 1: A, negative), ``skip`` (heads, 1: D), ``project_out`` (width,
    inner), ``norm`` (groups, inner / groups) or None.
    """

    project_in: Floats | PackedRows
    conv_weight: Floats
    conv_bias: Floats
    dt_bias: Floats
    decay: Floats
    skip: Floats
    project_out: Floats | PackedRows
    norm: Floats | None = None

    def check(self, shape: BranchShape, width: int) -> None:
        """Raise ValueError when an array is not of ``shape``'s sizes in a model ``width`` wide."""
        expected: list[tuple[str, Floats | PackedRows | None, tuple[int, ...]]] = [
            ("project_in", self.project_in, (shape.projection_rows, width)),
            ("conv_weight", self.conv_weight, (shape.conv_rows, shape.conv)),
            ("conv_bias", self.conv_bias, (shape.conv_rows,)),
            ("dt_bias", self.dt_bias, (shape.heads,)),
            ("decay", self.decay, (shape.heads, 1)),
            ("skip", self.skip, (shape.heads, 1)),
            ("project_out", self.project_out, (width, shape.inner)),
        ]
        if shape.gated_norm:
            expected.append(("norm", self.norm, (shape.groups, shape.inner // shape.groups)))
        elif self.norm is not None:
            raise ValueError("the branch has a norm, but its shape says it has none")
        for name, array, sizes in expected:
            found = None if array is None else array.shape
            if found != sizes:
                raise ValueError(f"{name} is {found}, not {sizes}")
        if not (self.decay < 0).all():
            raise ValueError("decay must be negative: the state would grow without end")


class BranchWeights(Protocol):
    """Where a branch's weights come from: a seed, or a file of trained ones."""

    @property
    def shape(self) -> BranchShape:
        """The sizes of every layer's branch."""

    def layer(self, index: int, width: int) -> LayerBranch:
        """Return the weights for layer ``index`` of a model whose residual stream is ``width`` wide."""


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
