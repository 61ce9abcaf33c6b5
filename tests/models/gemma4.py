"""Writes a small Gemma 4, of which the generator of the other tiny models makes none.

Invariant: it has all that sets this architecture's memory apart: windowed and full layers in turn with heads of
different sizes, full layers whose values are their keys, last layers without keys of their own, per-layer inputs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.untrained import VOCABULARY, Untrained

WINDOW = 64
"""Tokens that a windowed layer sees."""
WINDOWED = (True, False, True, False, True, False)
SHARING = 2
"""Last layers, which look into the keys and values of the last two layers before them."""
WIDTH = 128
HEADS = 4
HEAD_FULL = 64
HEAD_WINDOWED = 32
FEED_FORWARD = 192
PER_LAYER = 16


def write_gemma4(path: Path, *, seed: int = 1234) -> None:
    """Write a Gemma 4 of random weights with six layers, a window of 64 tokens and 128 ids to ``path``."""
    layers = len(WINDOWED)
    model = Untrained(path, "gemma4", seed=seed, width=WIDTH, layers=layers)
    _hyperparameters(model)
    model.normal("token_embd", VOCABULARY, WIDTH, deviation=WIDTH**-0.5)
    model.normal("per_layer_token_embd", VOCABULARY, PER_LAYER * layers, deviation=PER_LAYER**-0.5)
    model.matrix("per_layer_model_proj", PER_LAYER * layers, WIDTH)
    model.norm("per_layer_proj_norm", PER_LAYER, bias=False)
    # Full layers turn a quarter of each head: dividing a frequency by a huge number stops it.
    model.exact(
        "rope_freqs.weight", np.repeat([1.0, 1e30], [HEAD_FULL // 8, HEAD_FULL // 2 - HEAD_FULL // 8])
    )
    for layer in range(layers):
        _attention(model, layer)
        _feed_forward(model, f"blk.{layer}")
    model.norm("output_norm", WIDTH, bias=False)
    model.matrix("output", VOCABULARY, WIDTH)
    model.finish()


def _hyperparameters(model: Untrained) -> None:
    writer = model.writer
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_key_length(HEAD_FULL)
    writer.add_value_length(HEAD_FULL)
    writer.add_key_length_swa(HEAD_WINDOWED)
    writer.add_value_length_swa(HEAD_WINDOWED)
    writer.add_rope_dimension_count(HEAD_FULL)
    writer.add_rope_dimension_count_swa(HEAD_WINDOWED)
    writer.add_rope_freq_base(1e6)
    writer.add_rope_freq_base_swa(1e4)
    writer.add_sliding_window(WINDOW)
    writer.add_sliding_window_pattern(list(WINDOWED))
    writer.add_shared_kv_layers(SHARING)
    writer.add_embedding_length_per_layer_input(PER_LAYER)
    writer.add_final_logit_softcapping(30.0)


def _attention(model: Untrained, layer: int) -> None:
    block, head = f"blk.{layer}", HEAD_WINDOWED if WINDOWED[layer] else HEAD_FULL
    model.norm(f"{block}.attn_norm", WIDTH, bias=False)
    model.matrix(f"{block}.attn_q", HEADS * head, WIDTH)
    model.norm(f"{block}.attn_q_norm", head, bias=False)
    if layer < len(WINDOWED) - SHARING:
        model.matrix(f"{block}.attn_k", head, WIDTH)
        # Scores are not divided by the root of the head's size: the norm keeps them near one.
        model.normal(f"{block}.attn_k_norm", head, mean=head**-0.5, deviation=0.1 * head**-0.5)
        if WINDOWED[layer]:
            model.matrix(f"{block}.attn_v", head, WIDTH)
    model.matrix(f"{block}.attn_output", WIDTH, HEADS * head)
    model.norm(f"{block}.post_attention_norm", WIDTH, bias=False)


def _feed_forward(model: Untrained, block: str) -> None:
    model.norm(f"{block}.ffn_norm", WIDTH, bias=False)
    model.matrix(f"{block}.ffn_gate", FEED_FORWARD, WIDTH)
    model.matrix(f"{block}.ffn_up", FEED_FORWARD, WIDTH)
    model.matrix(f"{block}.ffn_down", WIDTH, FEED_FORWARD)
    model.norm(f"{block}.post_ffw_norm", WIDTH, bias=False)
    model.matrix(f"{block}.inp_gate", PER_LAYER, WIDTH)
    model.matrix(f"{block}.proj", WIDTH, PER_LAYER)
    model.norm(f"{block}.post_norm", WIDTH, bias=False)
    model.uniform(f"{block}.layer_output_scale", 0.5, 1.0, 1)
