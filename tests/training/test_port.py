"""The torch model against llama.cpp: the same logits from the same file, but for rounding.

These need torch, which has an environment of its own (``training/README.md``); elsewhere they are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from skippy_chat.models.branch import BranchShape
from skippy_chat.models.fetch import BASE_FILE
from skippy_chat.models.graft import Label, graft
from skippy_chat.models.header import TensorInfo, read_header
from skippy_chat.models.tensor_types import F32
from skippy_chat.models.writing import NewTensor, entry, number_entry, write_gguf
from skippy_chat.native import library
from skippy_chat.native.context import Context, ContextOptions
from skippy_chat.native.model import Model
from tests.models.small import VOCABULARY, small_llama

torch = pytest.importorskip("torch", reason="torch is not installed here; see training/README.md")

from training.base import BaseWeights, dequantise  # noqa: E402 - after the skip
from training.hybrid import Hybrid  # noqa: E402
from training.trained import TrainedBranch  # noqa: E402

pytestmark = [pytest.mark.native, pytest.mark.timeout(300)]
SHAPE = BranchShape(inner=32, state=16, heads=2, gated_norm=True)
REAL_SHAPE = BranchShape(inner=256, state=32, heads=4, gated_norm=True)
# 200 tokens: more than one chunk of the branch's sums.
IDS = [int(each) for each in np.random.default_rng(3).integers(0, VOCABULARY, 200)]
# float32 on both sides, summed in another order: 4e-6 was found, of logits that spread by 0.5.
ROUNDING = 1e-4


def by_llama(path: Path, ids: Sequence[int]) -> NDArray[np.float32]:
    """Return llama.cpp's logits after each token, shape (tokens, vocabulary)."""
    model = Model(library.load(), path)
    try:
        options = ContextOptions(256, 256, 256, 1, flash_attention="off", kv_type="f32")
        context = Context(model, options)
        rows = []
        for position, token in enumerate(ids):
            context.decode([token], position, logits=True)
            rows.append(context.logits().copy())
        context.close()
    finally:
        model.close()
    return np.stack(rows)


def woken(model: Hybrid) -> Hybrid:
    """Give every weight of the branches a value that a mistake would show in."""
    generator = torch.Generator().manual_seed(11)
    for mixer in model.mixers:
        for name, weight in mixer.named_parameters():
            if not weight.requires_grad:
                continue
            noise = torch.randn(weight.shape, generator=generator)
            scale = 0.3 if name != "project_out" else 0.5 / weight.shape[1] ** 0.5
            weight.data += noise * scale
    return model


def grafted(base: Path, model: Hybrid) -> Path:
    target = base.with_name("hybrid.gguf")
    graft(base, target, TrainedBranch(model), Label("Test", "test"), progress=lambda *_: None)
    return target


@pytest.mark.parametrize("kind", ["full", "forgetful", "adapter"])
def test_every_position_has_llamas_logits(kind: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    base = tmp_path / "base.gguf"
    small_llama(base)
    model = woken(Hybrid(BaseWeights(base), SHAPE, kind=kind, precision=torch.float32))
    expected = by_llama(grafted(base, model), IDS)
    with torch.no_grad():
        hidden, _ = model(torch.tensor([IDS]))
        found = model.logits(hidden)[0].numpy()
        plain = model.logits(model(torch.tensor([IDS]), branch=False)[0])[0].numpy()
    assert np.abs(found - expected).max() < ROUNDING
    assert np.abs(plain - expected).max() > 100 * ROUNDING  # the branch is not a whisper


def test_rows_behind_a_prefix_are_as_if_read_in_one(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    base = tmp_path / "base.gguf"
    small_llama(base)
    model = woken(Hybrid(BaseWeights(base), SHAPE, precision=torch.float32))
    tails = [IDS[150:180], IDS[20:50]]
    with torch.no_grad():
        _, past = model(torch.tensor([IDS[:150]]))
        behind, _ = model(torch.tensor(tails), past)
        for row, tail in enumerate(tails):
            whole, _ = model(torch.tensor([IDS[:150] + tail]))
            assert (behind[row] - whole[0, 150:]).abs().max() < ROUNDING


def test_gradients_behind_a_prefix_are_those_of_one_sequence(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    base = tmp_path / "base.gguf"
    small_llama(base)
    model = woken(Hybrid(BaseWeights(base), SHAPE, precision=torch.float32))
    weights = [weight for weight in model.mixers.parameters() if weight.requires_grad]

    def gradients(*, split: bool) -> list[Any]:
        if split:
            _, past = model(torch.tensor([IDS[:150]]))
            hidden, _ = model(torch.tensor([IDS[150:]]), past)
        else:
            hidden = model(torch.tensor([IDS]))[0][:, 150:]
        return list(torch.autograd.grad(model.logits(hidden).square().sum(), weights))

    for one, two in zip(gradients(split=False), gradients(split=True), strict=True):
        assert (one - two).abs().max() <= 1e-4 * one.abs().max()


def test_gradients_reach_every_trained_weight_through_the_prefix(tmp_path: Path) -> None:
    base = tmp_path / "base.gguf"
    small_llama(base)
    model = woken(Hybrid(BaseWeights(base), SHAPE, precision=torch.float32))
    _, past = model(torch.tensor([IDS[:40]]))
    hidden, _ = model(torch.tensor([IDS[40:60]]), past)
    model.logits(hidden).square().mean().backward()
    silent = [
        f"{index}.{name}"
        for index, mixer in enumerate(model.mixers)
        for name, weight in mixer.named_parameters()
        if weight.requires_grad and (weight.grad is None or not weight.grad.abs().max() > 0)
    ]
    assert silent == []


@pytest.mark.model
def test_the_real_base_in_float32_agrees_to_rounding(default_model: Path, tmp_path: Path) -> None:
    """Its first layers, so that the file stays small: 1e-4 was found, of logits that spread by 7."""
    torch.set_num_threads(1)
    base = in_float32(default_model.with_name(BASE_FILE), tmp_path / "base.gguf", layers=6)
    model = woken(Hybrid(BaseWeights(base), REAL_SHAPE, precision=torch.float32))
    path = grafted(base, model)
    ids = question_ids(path)
    expected = by_llama(path, ids)
    with torch.no_grad():
        found = model.logits(model(torch.tensor([ids]))[0])[0].numpy()
    assert np.abs(found - expected).max() < 1e-3


@pytest.mark.model
def test_the_real_base_as_it_is_says_the_same_words(default_model: Path, tmp_path: Path) -> None:
    """llama.cpp rounds activations to 8 bits beside 4-bit weights: 2 % of the logits' spread, and no word."""
    torch.set_num_threads(1)
    base = tmp_path / BASE_FILE
    base.symlink_to(default_model.with_name(BASE_FILE))
    model = Hybrid(BaseWeights(base), REAL_SHAPE, precision=torch.float32)
    path = grafted(base, model)
    ids = question_ids(path)
    expected = by_llama(path, ids)
    with torch.no_grad():
        found = model.logits(model(torch.tensor([ids]))[0])[0].numpy()
    assert np.abs(found - expected).mean() < 0.03 * expected.std()
    assert found.argmax(1).tolist() == expected.argmax(1).tolist()


def question_ids(path: Path) -> list[int]:
    native = Model(library.load(), path, vocab_only=True)
    ids = list(native.tokenize("<|im_start|>user\nWhat is the capital of France?<|im_end|>\n", special=True))
    native.close()
    return ids


def in_float32(base: Path, target: Path, layers: int) -> Path:
    """Write the first layers of a base with all tensors dequantised."""
    header = read_header(base)

    def load(tensor: TensorInfo) -> bytes:
        data = base.read_bytes()[tensor.start : tensor.start + tensor.n_bytes]
        return dequantise(data, tensor.type.name, base).tobytes()

    raw = base.read_bytes()
    entries = [
        number_entry(key, layers)
        if key == "llama.block_count"
        else entry(key, raw[value.raw_start : value.raw_end])
        for key, value in header.metadata.items()
    ]
    tensors = [
        NewTensor(tensor.name, tensor.shape, F32, 4 * prod(tensor.shape), partial(load, tensor))
        for tensor in header.tensors
        if not tensor.name.startswith("blk.") or int(tensor.name.split(".")[1]) < layers
    ]
    return write_gguf(target, entries, tensors, progress=lambda *_: None).path
