"""Writes small RWKV models, of which the generator of the other tiny models makes none.

Invariant: every layer forgets slowly in some channels and fast in others, and takes much of its input from the token
before. So both of its states, the shifted token and the key-value memory, matter to the next logits.
"""

from __future__ import annotations

from pathlib import Path

from tests.models.untrained import VOCABULARY, Untrained

ARCHITECTURES = ("rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7")
LAYERS = 3
HEAD_SIZE = 64
"""As in every released RWKV; the widest vector kernel reads whole blocks of 64."""
FEED_FORWARD = 256
RANK = 16
"""Inner size of the low-rank projections."""


def write_rwkv(path: Path, architecture: str, *, seed: int = 1234, heads: int = 2) -> None:
    """Write an RWKV of random weights with three layers and 128 ids to ``path``.

    rwkv6 and rwkv7 keep two shifted tokens per layer, rwkv6qwen2 and arwkv7 one. rwkv6qwen2 shares one key and value
    head among all heads; arwkv7 has no gate and no group norm.

    Raises:
        ValueError: not one of ``ARCHITECTURES``.
    """
    if architecture not in ARCHITECTURES:
        raise ValueError(f"{architecture!r} is no RWKV")
    model = Untrained(path, architecture, seed=seed, width=heads * HEAD_SIZE, layers=LAYERS)
    model.writer.add_head_count(0)
    model.writer.add_wkv_head_size(HEAD_SIZE)
    model.writer.add_feed_forward_length(FEED_FORWARD)
    _Writer(model, architecture, heads).write()
    model.finish()


class _Writer:
    """Lays out one model's tensors as its architecture names them."""

    def __init__(self, model: Untrained, architecture: str, heads: int) -> None:
        self.model = model
        self.heads = heads
        self.width = heads * HEAD_SIZE
        self.seventh = architecture in ("rwkv7", "arwkv7")
        self.plain = architecture in ("rwkv6", "rwkv7")  # the others are a Qwen2 outside of their time mixing

    def write(self) -> None:
        model, width = self.model, self.width
        self._hyperparameters()
        model.normal("token_embd", VOCABULARY, width)
        if self.plain:
            model.norm("token_embd_norm", width, bias=True)
        for layer in range(LAYERS):
            block = f"blk.{layer}"
            model.norm(f"{block}.attn_norm", width, bias=self.plain)
            if self.seventh:
                self._time_mix_7(f"{block}.time_mix", first=layer == 0)
            else:
                self._time_mix_6(f"{block}.time_mix")
            if self.plain:
                model.norm(f"{block}.attn_norm_2", width, bias=True)
                self._channel_mix(f"{block}.channel_mix")
            else:
                model.norm(f"{block}.ffn_norm", width, bias=False)
                self._feed_forward(block)
        model.norm("output_norm", width, bias=self.plain)
        model.matrix("output", VOCABULARY, width)

    def _hyperparameters(self) -> None:
        writer = self.model.writer
        if self.plain:
            writer.add_layer_norm_eps(1e-5)
        else:
            writer.add_layer_norm_rms_eps(1e-6)
            writer.add_token_shift_count(1)
        if self.seventh:
            writer.add_decay_lora_rank(RANK)
            writer.add_iclr_lora_rank(RANK)
            writer.add_value_residual_mix_lora_rank(RANK)
            writer.add_gate_lora_rank(RANK if self.plain else 0)
        else:
            writer.add_time_mix_extra_dim(RANK)
            writer.add_time_decay_extra_dim(RANK)
            if self.plain:
                writer.add_rescale_every_n_layers(2)
            else:
                writer.add_head_count_kv(1)

    def _time_mix_6(self, mix: str) -> None:
        model, width = self.model, self.width
        model.normal(f"{mix}_w1", 5 * RANK, width, deviation=width**-0.5)
        model.normal(f"{mix}_w2", 5, width, RANK, deviation=0.3 * RANK**-0.5)
        model.uniform(f"{mix}_lerp_x", 0.2, 0.8, 1, 1, width)
        model.uniform(f"{mix}_lerp_fused", 0.2, 0.8, 5, 1, 1, width)
        # A channel keeps exp(-exp(decay)) of its memory from token to token: here 0.998 to 0.69 of it.
        model.uniform(f"{mix}_decay", -6.0, -1.0, width)
        model.normal(f"{mix}_decay_w1", RANK, width, deviation=width**-0.5)
        model.normal(f"{mix}_decay_w2", width, RANK, deviation=0.3 * RANK**-0.5)
        model.matrix(f"{mix}_receptance", width, width)
        model.matrix(f"{mix}_gate", width, width)
        model.matrix(f"{mix}_output", width, width)
        if self.plain:
            model.matrix(f"{mix}_key", width, width)
            model.matrix(f"{mix}_value", width, width)
            model.normal(f"{mix}_first", self.heads, HEAD_SIZE, deviation=0.5)
            model.norm(f"{mix}_ln", width, bias=True)
        else:
            for name in ("key", "value"):
                model.matrix(f"{mix}_{name}", HEAD_SIZE, width, gain=2.0)
                model.normal(f"{mix}_{name}", HEAD_SIZE, deviation=0.5, kind="bias")
            model.normal(f"{mix}_receptance", width, deviation=0.5, kind="bias")

    def _time_mix_7(self, mix: str, *, first: bool) -> None:
        model, width = self.model, self.width
        model.uniform(f"{mix}_lerp_fused", 0.2, 0.8, 6 if self.plain else 5, 1, 1, width)
        # A channel keeps exp(-0.61 sigmoid(w0)) of its memory: here 0.996 to 0.74 of it.
        model.uniform(f"{mix}_w0", -5.0, 0.0, width)
        self._low_rank(f"{mix}_w", 0.5)
        model.normal(f"{mix}_a0", width, mean=-1.0, deviation=0.5)
        self._low_rank(f"{mix}_a", 0.5)
        model.normal(f"{mix}_v0", width, mean=0.0 if first else -1.0, deviation=0.5)
        self._low_rank(f"{mix}_v", 0.5)
        if self.plain:
            self._low_rank(f"{mix}_g", 4.0)
            model.norm(f"{mix}_ln", width, bias=True)
        model.normal(f"{mix}_k_k", width, mean=0.8, deviation=0.1)
        model.normal(f"{mix}_k_a", width, mean=1.0, deviation=0.1)
        model.normal(f"{mix}_r_k", width, deviation=0.1)
        model.matrix(f"{mix}_key", width, width)
        model.matrix(f"{mix}_value", width, width)
        # Without a group norm behind it the sum over a head's channels is made small here.
        model.matrix(f"{mix}_receptance", width, width, gain=1.0 if self.plain else 0.1)
        model.matrix(f"{mix}_output", width, width)

    def _low_rank(self, name: str, gain: float) -> None:
        self.model.normal(f"{name}1", RANK, self.width, deviation=self.width**-0.5)
        self.model.normal(f"{name}2", self.width, RANK, deviation=gain * RANK**-0.5)

    def _channel_mix(self, mix: str) -> None:
        model, width = self.model, self.width
        model.uniform(f"{mix}_lerp_k", 0.2, 0.8, 1, 1, width)
        model.matrix(f"{mix}_key", FEED_FORWARD, width)
        model.matrix(f"{mix}_value", width, FEED_FORWARD)
        if not self.seventh:
            model.uniform(f"{mix}_lerp_r", 0.2, 0.8, 1, 1, width)
            model.matrix(f"{mix}_receptance", width, width)

    def _feed_forward(self, block: str) -> None:
        self.model.matrix(f"{block}.ffn_gate", FEED_FORWARD, self.width)
        self.model.matrix(f"{block}.ffn_up", FEED_FORWARD, self.width)
        self.model.matrix(f"{block}.ffn_down", self.width, FEED_FORWARD)
