"""Small GGUF files, written through the ``gguf`` package: an oracle that shares no code with ours."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

WIDTH = 64
HEADS = 2
HEADS_KV = 1
LAYERS = 2
FEED_FORWARD = 96
VOCABULARY = 64
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"

Rows = NDArray[np.float32]


def small_llama(
    path: Path,
    *,
    quantised: bool = False,
    architecture: str = "llama",
    rotated: int | None = None,
    extra: str = "",
    name: str = "Small",
) -> dict[str, Rows]:
    """Write a two-layer llama to ``path`` and return its weights as trained: rotary pairs half a head apart.

    The file holds attn_q and attn_k in llama's order, pairs side by side, as llama.cpp's converter lays them out.
    """
    random = np.random.default_rng(5)
    head = WIDTH // HEADS
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_license("mit")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS_KV)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(head if rotated is None else rotated)
    writer.add_rope_freq_base(10000.0)
    writer.add_file_type(0)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("none")
    writer.add_array("tokenizer.ggml.tokens", [f"t{token}" for token in range(VOCABULARY)])
    writer.add_chat_template(TEMPLATE)
    weights: dict[str, Rows] = {}

    def put(name: str, *sizes: int) -> None:
        rows = random.normal(0, 1 / np.sqrt(sizes[-1]), sizes).astype(np.float32)
        if len(sizes) == 1:
            rows = np.abs(rows) * 4
        weights[name] = rows
        stored = rows
        if "attn_q" in name or "attn_k." in name:
            heads = sizes[0] // head
            stored = rows.reshape(heads, 2, head // 2, -1).swapaxes(1, 2).reshape(rows.shape)
        if quantised and len(sizes) > 1:
            kind = gguf.GGMLQuantizationType.Q4_1
            writer.add_tensor(name, gguf.quants.quantize(stored, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, stored)

    put("token_embd.weight", VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        put(f"blk.{layer}.attn_norm.weight", WIDTH)
        put(f"blk.{layer}.attn_q.weight", WIDTH, WIDTH)
        put(f"blk.{layer}.attn_k.weight", HEADS_KV * head, WIDTH)
        put(f"blk.{layer}.attn_v.weight", HEADS_KV * head, WIDTH)
        put(f"blk.{layer}.attn_output.weight", WIDTH, WIDTH)
        put(f"blk.{layer}.ffn_norm.weight", WIDTH)
        put(f"blk.{layer}.ffn_gate.weight", FEED_FORWARD, WIDTH)
        put(f"blk.{layer}.ffn_up.weight", FEED_FORWARD, WIDTH)
        put(f"blk.{layer}.ffn_down.weight", WIDTH, FEED_FORWARD)
    if extra:
        put(extra, WIDTH)
    put("output_norm.weight", WIDTH)
    _finish(writer)
    return weights


def bare(path: Path, *, tensors: int = 1, **numbers: int) -> Path:
    """Write a file with some small tensors and 16-bit metadata; ``split_no`` stands for ``split.no``."""
    writer = gguf.GGUFWriter(path, "llama")
    for key, number in numbers.items():
        writer.add_uint16(key.replace("_", "."), number)
    for index in range(tensors):
        writer.add_tensor(f"tensor.{index}", np.zeros((2, 32), dtype=np.float32))
    _finish(writer)
    return path


def _finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
