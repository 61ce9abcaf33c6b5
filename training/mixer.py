"""The Mamba-2 branch of one layer in torch, by the same sums as llama.cpp's: ``build_mamba2_layer`` and ``ssm_scan``.

Tokens are mixed by whole chunks (the quadratic form) instead of one after another, which gives the same sums in another
order. Invariant: a sequence read in two pieces, the second from the first's memory, gives what it gives in one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional

from skippy_chat.models.branch import BranchShape

CHUNK = 128
_GONE = -1e6  # a decay that leaves nothing of the token before: the branch without its recurrence


@dataclass(frozen=True, slots=True)
class Memory:
    """What a branch keeps of a sequence: the last inputs of its convolution, and the state.

    ``inputs`` (batch, conv - 1, conv rows), ``state`` (batch, heads, head width, state).
    """

    inputs: Tensor
    state: Tensor


class Mixer(nn.Module):  # type: ignore[misc]
    """One layer's branch; its output is zero until it is trained."""

    def __init__(
        self,
        shape: BranchShape,
        width: int,
        epsilon: float,
        *,
        kind: str,
        gain: float,
        generator: torch.Generator,
    ) -> None:
        """Make the weights.

        Args:
            shape: the branch's sizes.
            width: of the residual stream.
            epsilon: of the norm.
            kind: ``full``; ``forgetful``, in which the state lasts for one token; or ``adapter``, in which a token
                never meets another: no convolution, and B and C are zero.
            gain: of the first projection.
            generator: of the first weights.
        """
        super().__init__()
        self.shape, self.epsilon, self.kind = shape, epsilon, kind

        def normal(*sizes: int, deviation: float) -> Tensor:
            return torch.randn(*sizes, generator=generator) * deviation

        rows = normal(shape.projection_rows, width, deviation=gain * width**-0.5)
        taps = normal(shape.conv_rows, shape.conv, deviation=0.3)
        taps[:, -1] += 0.7
        if kind == "adapter":
            rows[2 * shape.inner :] = 0
            taps = torch.zeros_like(taps)
            taps[:, -1] = 1
        self.project_in = nn.Parameter(rows)
        self.conv_weight = nn.Parameter(taps, requires_grad=kind != "adapter")
        self.conv_bias = nn.Parameter(torch.zeros(shape.conv_rows))
        # Steps from 0.1 down to 0.005, decays from 1 up to the number of heads: memories of ten to fifty tokens.
        steps = torch.exp(torch.linspace(log(0.1), log(0.005), shape.heads))
        self.dt_bias = nn.Parameter(torch.log(torch.expm1(steps)))
        first = torch.linspace(1.0, float(shape.heads), shape.heads)
        self.log_decay = nn.Parameter(torch.log(first), requires_grad=kind == "full")
        self.skip = nn.Parameter(torch.ones(shape.heads))
        self.norm = nn.Parameter(torch.ones(shape.groups, shape.inner // shape.groups))
        self.project_out = nn.Parameter(torch.zeros(width, shape.inner))

    def decay(self) -> Tensor:
        """Return A by head, negative."""
        if self.kind == "full":
            return -torch.exp(self.log_decay)
        return torch.full_like(self.log_decay, _GONE)

    def forward(self, hidden: Tensor, memory: Memory | None, precision: torch.dtype) -> tuple[Tensor, Memory]:
        """Return the branch's output for ``hidden`` (batch, tokens, width), and what it remembers after it."""
        shape = self.shape
        rows = self.project_in
        if self.kind == "adapter":  # B, C and dt stay zero
            rows = torch.cat([rows[: 2 * shape.inner], torch.zeros_like(rows[2 * shape.inner :])])
        projected = functional.linear(hidden.to(precision), rows.to(precision)).float()
        z, xbc, dt = projected.split([shape.inner, shape.conv_rows, shape.heads], dim=-1)
        mixed, inputs = self._convolve(xbc, memory)
        x, b, c = mixed.split([shape.inner, shape.groups * shape.state, shape.groups * shape.state], dim=-1)
        y, state = self._scan(x, b, c, dt, memory)
        y = functional.silu(z) * y
        grouped = y.unflatten(-1, (shape.groups, -1))
        grouped = grouped * torch.rsqrt(grouped.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.norm
        out = functional.linear(grouped.flatten(-2).to(precision), self.project_out.to(precision)).float()
        return out, Memory(inputs, state)

    def _convolve(self, xbc: Tensor, memory: Memory | None) -> tuple[Tensor, Tensor]:
        taps = self.shape.conv
        batch = xbc.shape[0]
        empty = xbc.new_zeros(batch, taps - 1, xbc.shape[2])
        before = empty if memory is None else memory.inputs.expand(batch, -1, -1)
        padded = torch.cat([before, xbc], dim=1)
        count = xbc.shape[1]
        total = self.conv_bias.expand_as(xbc)
        for tap in range(taps):
            total = total + padded[:, tap : tap + count] * self.conv_weight[:, tap]
        return functional.silu(total), padded[:, count:]

    def _scan(
        self, x: Tensor, b: Tensor, c: Tensor, dt: Tensor, memory: Memory | None
    ) -> tuple[Tensor, Tensor]:
        shape = self.shape
        batch, count, _ = x.shape
        x = x.unflatten(-1, (shape.heads, -1))
        shared = shape.heads // shape.groups
        b = b.unflatten(-1, (shape.groups, -1)).repeat_interleave(shared, dim=2)
        c = c.unflatten(-1, (shape.groups, -1)).repeat_interleave(shared, dim=2)
        step = functional.softplus(dt + self.dt_bias)
        fall = step * self.decay()
        if memory is None:
            state = x.new_zeros(batch, shape.heads, x.shape[-1], shape.state)
        else:
            state = memory.state.expand(batch, -1, -1, -1)
        parts = []
        for start in range(0, count, CHUNK):
            piece = slice(start, min(start + CHUNK, count))
            part, state = _chunk(x[:, piece], b[:, piece], c[:, piece], step[:, piece], fall[:, piece], state)
            parts.append(part)
        y = torch.cat(parts, dim=1) + x * self.skip[:, None]
        return y.flatten(-2), state


def _chunk(
    x: Tensor, b: Tensor, c: Tensor, step: Tensor, fall: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Mix one chunk; x (batch, tokens, heads, width), b and c (…, heads, state), step and fall (…, heads)."""
    total = fall.cumsum(dim=1).transpose(1, 2)  # (batch, heads, tokens)
    between = total[..., :, None] - total[..., None, :]
    count = x.shape[1]
    ahead = torch.ones(count, count, dtype=torch.bool, device=x.device).triu(1)
    weight = torch.exp(between.masked_fill(ahead, float("-inf")))
    scores = torch.einsum("bthn,bshn->bhts", c, b) * weight
    driven = x * step[..., None]
    y = torch.einsum("bhts,bshp->bthp", scores, driven)
    kept = torch.exp(total)  # of the state before the chunk
    y = y + torch.einsum("bthn,bhpn,bht->bthp", c, state, kept)
    left = torch.exp(total[..., -1:] - total)  # of each token at the chunk's end
    after = torch.einsum("bhs,bshp,bshn->bhpn", left, driven, b) + state * kept[..., -1][..., None, None]
    return y, after
