"""The base and its branches in torch: what llama.cpp's ``falcon-h1`` computes, with gradients for the branches only.

A batch of rows shares one prefix that is read once. Invariant: nothing here may differ from llama.cpp but by rounding;
``tests/training/test_port.py`` holds the logits to the patched library's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from skippy_chat.models.branch import BranchShape
from training.attention import attend_shared
from training.base import BaseSizes, BaseWeights
from training.mixer import Memory, Mixer

_INPUT = 0.35  # the spread of z, x, B, C and dt at first: that of the trial in most layers


@dataclass(frozen=True, slots=True)
class LayerPast:
    """What a layer keeps of the tokens read: keys and values (batch, heads, tokens, width), and its branch's memory."""

    keys: Tensor
    values: Tensor
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class _Layer:
    norm: Tensor
    qkv: Tensor
    out: Tensor
    ffn_norm: Tensor
    gate_up: Tensor
    down: Tensor


class Hybrid(nn.Module):  # type: ignore[misc]
    """The model; ``mixers`` holds all that is trained."""

    def __init__(
        self,
        base: BaseWeights,
        shape: BranchShape,
        *,
        kind: str = "full",
        precision: torch.dtype = torch.bfloat16,
        seed: int = 0,
    ) -> None:
        """Load the base; matrix products are in ``precision``, all else in float32. ``kind``: see ``Mixer``."""
        super().__init__()
        self.sizes: BaseSizes = base.sizes
        self.shape, self.precision = shape, precision

        def fixed(*names: str) -> Tensor:
            return torch.cat([torch.from_numpy(base.get(name)) for name in names]).to(precision)

        def norm(name: str) -> Tensor:
            return torch.from_numpy(base.get(name))

        self.embedding = fixed("token_embd.weight")
        self.head = fixed("output.weight") if base.has("output.weight") else self.embedding
        self.output_norm = norm("output_norm.weight")
        self.layers = [
            _Layer(
                norm=norm(f"blk.{index}.attn_norm.weight"),
                qkv=fixed(*(f"blk.{index}.attn_{part}.weight" for part in "qkv")),
                out=fixed(f"blk.{index}.attn_output.weight"),
                ffn_norm=norm(f"blk.{index}.ffn_norm.weight"),
                gate_up=fixed(f"blk.{index}.ffn_gate.weight", f"blk.{index}.ffn_up.weight"),
                down=fixed(f"blk.{index}.ffn_down.weight"),
            )
            for index in range(self.sizes.layers)
        ]
        generator = torch.Generator().manual_seed(seed)
        # The base's first norms shrink what they let through to a tenth of what later ones do; so small, a gated
        # product would be lost beside the epsilon of the branch's norm.
        sizes = self.sizes
        self.mixers = nn.ModuleList(
            Mixer(
                shape,
                sizes.width,
                sizes.epsilon,
                kind=kind,
                gain=_INPUT / float(layer.norm.square().mean().sqrt()),
                generator=generator,
            )
            for layer in self.layers
        )
        self._angles = self.sizes.rope_base ** (-torch.arange(0, self.sizes.head, 2) / self.sizes.head)

    def forward(
        self, ids: Tensor, past: list[LayerPast] | None = None, *, branch: bool = True
    ) -> tuple[Tensor, list[LayerPast]]:
        """Return the normed hidden state of ``ids`` (batch, tokens) behind ``past``, and what each layer keeps of them.

        A past has one row, which all rows share; what is returned does not contain it. Without ``branch`` this is the
        base alone.
        """
        stream = self.embedding[ids].float()
        begun = past[0].keys.shape[2] if past else 0
        count = ids.shape[1]
        turns = torch.arange(begun, begun + count)[:, None] * self._angles
        rotation = torch.cos(turns), torch.sin(turns)
        after: list[LayerPast] = []
        for index, layer in enumerate(self.layers):
            known = past[index] if past else None
            hidden = _rms(stream, layer.norm, self.sizes.epsilon)
            mixed, keys, values = self._attend(layer, hidden, known, rotation)
            memory = None
            if branch:
                added, memory = self.mixers[index](hidden, known.memory if known else None, self.precision)
                mixed = mixed + added
            stream = stream + mixed
            stream = stream + self._feed_forward(layer, stream)
            after.append(LayerPast(keys, values, memory))
        return _rms(stream, self.output_norm, self.sizes.epsilon), after

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits of hidden states (…, width), in float32."""
        return functional.linear(hidden.to(self.precision), self.head).float()

    def _attend(
        self,
        layer: _Layer,
        hidden: Tensor,
        past: LayerPast | None,
        rotation: tuple[Tensor, Tensor],
    ) -> tuple[Tensor, Tensor, Tensor]:
        sizes = self.sizes
        batch, count, _ = hidden.shape
        qkv = functional.linear(hidden.to(self.precision), layer.qkv)
        heads = qkv.unflatten(-1, (-1, sizes.head)).transpose(1, 2)
        q, k, v = heads.split([sizes.heads, sizes.heads_kv, sizes.heads_kv], dim=1)
        q, k = _rotate(q, rotation), _rotate(k, rotation)
        if past is None:
            out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            out = attend_shared(q, k, v, past.keys, past.values)
        flat = out.transpose(1, 2).reshape(batch, count, sizes.width)
        return functional.linear(flat, layer.out).float(), k, v

    def _feed_forward(self, layer: _Layer, stream: Tensor) -> Tensor:
        hidden = _rms(stream, layer.ffn_norm, self.sizes.epsilon).to(self.precision)
        gate, up = functional.linear(hidden, layer.gate_up).chunk(2, dim=-1)
        return functional.linear(functional.silu(gate) * up, layer.down).float()


def _rms(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, epsilon)


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Turn pairs that lie half a head apart."""
    cos, sin = (each.to(x.dtype) for each in rotation)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
