"""Reads the weights of a llama GGUF as float32, in the row order of the hybrid that they become.

Only the tensor types that the default model's base has. Invariant: a value is what llama.cpp computes with, to the
bit: a block's scale times a small whole number, plus a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skippy_chat.models.graft import half_split_rows
from skippy_chat.models.header import GgufHeader, TensorInfo, fault, read_header

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BaseSizes:
    """The sizes of the base model; ``rope_base`` is the frequency base of its rotary positions."""

    width: int
    layers: int
    heads: int
    heads_kv: int
    inner: int
    vocabulary: int
    rope_base: float
    epsilon: float

    @property
    def head(self) -> int:
        """The width of one attention head."""
        return self.width // self.heads


class BaseWeights:
    """The tensors of a base model, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Read the header.

        Raises:
            ModelFileError: no GGUF file, or one that lacks what a llama has.
        """
        self._header = read_header(path)
        self._tensors = {tensor.name: tensor for tensor in self._header.tensors}
        self.sizes = _sizes(self._header, self._tensors["token_embd.weight"])

    def get(self, name: str) -> Array:
        """Return a tensor, outermost dimension first; q and k have the row order of half-split rotation."""
        tensor = self._tensors[name]
        with self._header.path.open("rb") as file:
            file.seek(tensor.start)
            data = file.read(tensor.n_bytes)
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            heads = self.sizes.heads if name.endswith("attn_q.weight") else self.sizes.heads_kv
            data = half_split_rows(data, heads, tensor.shape[1])
        return dequantise(data, tensor.type.name, self._header.path).reshape(tuple(reversed(tensor.shape)))

    def has(self, name: str) -> bool:
        """Return whether there is a tensor of that name."""
        return name in self._tensors


def dequantise(data: bytes, kind: str, path: Path) -> Array:
    """Return raw tensor bytes as float32, flat.

    Raises:
        ModelFileError: a tensor type that is not known here.
    """
    if kind == "F32":
        return np.frombuffer(data, "<f4").astype(np.float32)
    if kind == "F16":
        return np.frombuffer(data, "<f2").astype(np.float32)
    if kind == "Q8_0":
        blocks = np.frombuffer(data, dtype=[("scale", "<f2"), ("values", "i1", 32)])
        scaled: Array = blocks["scale"].astype(np.float32)[:, None] * blocks["values"].astype(np.float32)
        return scaled.ravel()
    if kind == "Q4_1":
        blocks = np.frombuffer(data, dtype=[("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", 16)])
        pairs = blocks["pairs"]
        values = np.concatenate([pairs & 15, pairs >> 4], axis=1).astype(np.float32)
        shifted: Array = (
            blocks["scale"].astype(np.float32)[:, None] * values + blocks["least"].astype(np.float32)[:, None]
        )
        return shifted.ravel()
    raise fault(path, f"has a tensor of type {kind}, which is not read here")


def _sizes(header: GgufHeader, embedding: TensorInfo) -> BaseSizes:
    def number(key: str) -> int:
        value = header.number(f"llama.{key}")
        if value is None:
            raise fault(header.path, f"does not say its llama.{key}")
        return value

    def real(key: str, fallback: float) -> float:
        entry = header.metadata.get(f"llama.{key}")
        return float(entry.value) if entry is not None and isinstance(entry.value, float) else fallback

    return BaseSizes(
        width=number("embedding_length"),
        layers=number("block_count"),
        heads=number("attention.head_count"),
        heads_kv=number("attention.head_count_kv"),
        inner=number("feed_forward_length"),
        vocabulary=embedding.shape[1],
        rope_base=real("rope.freq_base", 10000.0),
        epsilon=real("attention.layer_norm_rms_epsilon", 1e-5),
    )
