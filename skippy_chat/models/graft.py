"""Writes a dense llama model as a hybrid one: its weights as ``falcon-h1``, a Mamba-2 branch in each layer.

llama.cpp's falcon-h1 adds the output of a Mamba-2 mixer to the output of attention in every layer and is a
llama otherwise. So a llama's weights fit it but for two things: rotary pairs lie half a head apart instead of
side by side, and one tensor has another name. Invariant: no weight of the base is rounded or requantised.
Rows are moved whole, all other bytes are copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from skippy_chat.models.branch import BranchWeights, LayerBranch
from skippy_chat.models.branch_file import layer_tensors
from skippy_chat.models.header import GgufHeader, TensorInfo, fault, read_header
from skippy_chat.models.writing import (
    NewTensor,
    Progress,
    Written,
    entry,
    number_entry,
    text_entry,
    write_gguf,
)

BASE_ARCHITECTURE = "llama"
HYBRID_ARCHITECTURE = "falcon-h1"
_DROPPED = re.compile(r"^(split\..*|general\.(architecture|name|description))$")
_TEMPLATE = "tokenizer.chat_template"
_ROTATED = re.compile(r"^blk\.\d+\.attn_(q|k)\.weight$")
_FFN_NORM = re.compile(r"^(blk\.\d+\.ffn_norm)\.weight$")
_KNOWN = re.compile(
    r"^(token_embd\.weight|output\.weight|output_norm\.weight"
    r"|blk\.\d+\.(attn_(norm|q|k|v|output)|ffn_(norm|gate|up|down))\.weight)$"
)


@dataclass(frozen=True, slots=True)
class _Sizes:
    width: int
    layers: int
    heads: int
    heads_kv: int


@dataclass(frozen=True, slots=True)
class Label:
    """What the new model says of itself; ``chat_template`` takes the place of the base's own, if given."""

    name: str
    description: str
    chat_template: str | None = None


def graft(base: Path, target: Path, branch: BranchWeights, label: Label, *, progress: Progress) -> Written:
    """Write ``base`` (a llama GGUF) with ``branch`` beside every attention layer to ``target``, atomically.

    Raises ModelFileError when the base is no plain llama, or the target cannot be written.
    """
    header = read_header(base)
    sizes = _sizes(header)
    entries = list(_entries(header, branch, label))
    tensors = [_copied(header, tensor, sizes) for tensor in header.tensors]
    for index in range(sizes.layers):
        tensors.extend(_branch_tensors(index, branch, sizes.width))
    return write_gguf(target, entries, tensors, progress=progress, alignment=header.alignment)


def half_split_rows(data: bytes, heads: int, rows: int) -> bytes:
    """Reorder a projection's rows, given as raw (quantised) bytes, from paired to half-split rotary order.

    Within each head, rows 0, 1, 2, 3 … (pairs side by side) become 0, 2 … 1, 3 … (pairs half a head apart).
    """
    table = np.frombuffer(data, dtype=np.uint8).reshape(heads, rows // heads // 2, 2, -1)
    return bytes(table.swapaxes(1, 2).tobytes())


def _sizes(header: GgufHeader) -> _Sizes:
    """Return the base's sizes, when its layers are such that falcon-h1 computes the same."""
    architecture = header.text("general.architecture")
    if architecture != BASE_ARCHITECTURE:
        raise fault(header.path, f"is a {architecture!r} model; a branch can only be put into a llama")
    sizes = _Sizes(
        width=_needed(header, "embedding_length"),
        layers=_needed(header, "block_count"),
        heads=_needed(header, "attention.head_count"),
        heads_kv=_needed(header, "attention.head_count_kv"),
    )
    if _needed(header, "rope.dimension_count") * sizes.heads != sizes.width:
        raise fault(header.path, "rotates only a part of each attention head; its rows cannot be reordered")
    strange = [tensor.name for tensor in header.tensors if not _KNOWN.match(tensor.name)]
    if strange:
        raise fault(
            header.path, f"has the tensor {strange[0]!r}, which has no place in a {HYBRID_ARCHITECTURE}"
        )
    return sizes


def _needed(header: GgufHeader, key: str) -> int:
    value = header.number(f"{BASE_ARCHITECTURE}.{key}")
    if not value:
        raise fault(header.path, f"does not say its {BASE_ARCHITECTURE}.{key}")
    return value


def _entries(header: GgufHeader, branch: BranchWeights, label: Label) -> Iterator[bytes]:
    shape = branch.shape
    yield text_entry("general.architecture", HYBRID_ARCHITECTURE)
    yield text_entry("general.name", label.name)
    yield text_entry("general.description", label.description)
    if label.chat_template is not None:
        yield text_entry(_TEMPLATE, label.chat_template)
    with header.path.open("rb") as file:
        for key, value in header.metadata.items():
            if _DROPPED.match(key) or (key == _TEMPLATE and label.chat_template is not None):
                continue
            file.seek(value.raw_start)
            raw = file.read(value.raw_end - value.raw_start)
            own = key.startswith(f"{BASE_ARCHITECTURE}.")
            yield entry(HYBRID_ARCHITECTURE + key.removeprefix(BASE_ARCHITECTURE) if own else key, raw)
    for key, number in (
        ("conv_kernel", shape.conv),
        ("inner_size", shape.inner),
        ("state_size", shape.state),
        ("time_step_rank", shape.heads),
        ("group_count", shape.groups),
    ):
        yield number_entry(f"{HYBRID_ARCHITECTURE}.ssm.{key}", number)


def _copied(header: GgufHeader, tensor: TensorInfo, sizes: _Sizes) -> NewTensor:
    name = _FFN_NORM.sub(r"\1", tensor.name)
    rotated = _ROTATED.match(tensor.name)
    heads = 0
    if rotated:
        heads = sizes.heads if rotated[1] == "q" else sizes.heads_kv
        if len(tensor.shape) != 2 or tensor.shape[1] % (2 * heads):
            raise fault(header.path, f"has {tensor.name!r} of shape {tensor.shape}, not of {heads} heads")
    load = partial(_load, header.path, tensor, heads)
    return NewTensor(name, tensor.shape, tensor.type_id, tensor.n_bytes, load)


def _load(path: Path, tensor: TensorInfo, heads: int) -> bytes:
    """Return a base tensor's bytes; with ``heads`` above 0 its rows are put into half-split order."""
    try:
        with path.open("rb") as file:
            file.seek(tensor.start)
            data = file.read(tensor.n_bytes)
    except OSError as error:
        raise fault(path, f"cannot be read ({error.strerror})") from error
    if len(data) != tensor.n_bytes:
        raise fault(path, "became shorter while it was read", "Leave it alone and try again.")
    return half_split_rows(data, heads, tensor.shape[1]) if heads else data


def _branch_tensors(index: int, branch: BranchWeights, width: int) -> Iterator[NewTensor]:
    weights: LayerBranch = branch.layer(index, width)
    weights.check(branch.shape, width)
    yield from layer_tensors(index, weights)
