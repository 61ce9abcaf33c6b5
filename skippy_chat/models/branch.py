"""The Mamba-2 branch that is put beside every attention layer: its shape and its weights.

Kept apart from the file that it comes in and from the code that writes it into a model.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """Where a branch's weights come from: the file of trained ones, or what a training has so far."""

    @property
    def shape(self) -> BranchShape:
        """The sizes of every layer's branch."""

    def layer(self, index: int, width: int) -> LayerBranch:
        """Return the weights for layer ``index`` of a model whose residual stream is ``width`` wide."""
