"""A trained branch as a file of its own: small enough to come with the program, grafted on first use.

It is a GGUF with the tensors that a hybrid has beside its base's, under the names they have there, and the shape as
metadata. Invariant: what is grafted is the file's bytes, never requantised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skippy_chat.models.branch import BranchShape, Floats, LayerBranch, PackedRows
from skippy_chat.models.header import GgufHeader, TensorInfo, fault, read_header
from skippy_chat.models.tensor_types import F16, F32
from skippy_chat.models.writing import NewTensor, Progress, Written, number_entry, text_entry, write_gguf

ARCHITECTURE = "skippy-branch"
_SIZES = ("inner", "state", "heads", "groups", "conv")
_FLOATS = {F32: "<f4", F16: "<f2"}
# A layer's tensors by the field that holds them, with the names llama.cpp gives them.
TENSOR_NAMES = {
    "project_in": "ssm_in.weight",
    "conv_weight": "ssm_conv1d.weight",
    "conv_bias": "ssm_conv1d.bias",
    "dt_bias": "ssm_dt.bias",
    "decay": "ssm_a",
    "skip": "ssm_d",
    "norm": "ssm_norm.weight",
    "project_out": "ssm_out.weight",
}


@dataclass(frozen=True, slots=True)
class BranchFile:
    """The branch in a file; ``layers`` is how many it has, ``width`` that of the base it was trained on."""

    header: GgufHeader
    shape: BranchShape
    layers: int
    width: int

    def layer(self, index: int, width: int) -> LayerBranch:
        """Return one layer's weights.

        Raises:
            ModelFileError: there is no such layer, it was trained for another width, or a tensor is missing.
        """
        if index >= self.layers or width != self.width:
            raise fault(
                self.header.path,
                f"was trained for {self.layers} layers of width {self.width}, not for layer {index} of width {width}",
            )
        tensors = {tensor.name: tensor for tensor in self.header.tensors}

        def floats(field: str) -> Floats:
            found = self._read(tensors, index, field)
            if isinstance(found, PackedRows):
                raise fault(self.header.path, f"has {field} of layer {index} quantised, which it must not be")
            return found

        return LayerBranch(
            project_in=self._read(tensors, index, "project_in"),
            conv_weight=floats("conv_weight"),
            conv_bias=floats("conv_bias"),
            dt_bias=floats("dt_bias"),
            decay=floats("decay"),
            skip=floats("skip"),
            project_out=self._read(tensors, index, "project_out"),
            norm=floats("norm") if self.shape.gated_norm else None,
        )

    def _read(self, tensors: dict[str, TensorInfo], index: int, field: str) -> Floats | PackedRows:
        name = f"blk.{index}.{TENSOR_NAMES[field]}"
        tensor = tensors.get(name)
        if tensor is None:
            raise fault(self.header.path, f"lacks {name}")
        with self.header.path.open("rb") as file:
            file.seek(tensor.start)
            data = file.read(tensor.n_bytes)
        shape = tuple(reversed(tensor.shape))
        if tensor.type_id not in _FLOATS:
            return PackedRows(shape, tensor.type_id, data)
        array: Floats = np.frombuffer(data, _FLOATS[tensor.type_id]).reshape(shape)
        return array


def read_branch(path: Path) -> BranchFile:
    """Read the header of a branch's file.

    Raises:
        ModelFileError: no such file, not a branch, or sizes that no branch has.
    """
    header = read_header(path)
    if header.text("general.architecture") != ARCHITECTURE:
        raise fault(path, "is no branch for a hybrid model")

    def size(key: str) -> int:
        return header.number(f"{ARCHITECTURE}.{key}") or 0

    try:
        shape = BranchShape(**{key: size(key) for key in _SIZES}, gated_norm=bool(size("gated_norm")))
    except ValueError as error:
        raise fault(path, f"has sizes that no branch has ({error})") from error
    return BranchFile(header, shape, size("layers"), size("width"))


def write_branch(
    path: Path,
    shape: BranchShape,
    layers: Sequence[LayerBranch],
    width: int,
    description: str,
    *,
    progress: Progress,
) -> Written:
    """Write a branch to a file, atomically; its arrays are kept as they are, quantised rows too."""
    entries = [
        text_entry("general.architecture", ARCHITECTURE),
        text_entry("general.description", description),
        number_entry(f"{ARCHITECTURE}.layers", len(layers)),
        number_entry(f"{ARCHITECTURE}.width", width),
        number_entry(f"{ARCHITECTURE}.gated_norm", int(shape.gated_norm)),
        *(number_entry(f"{ARCHITECTURE}.{key}", getattr(shape, key)) for key in _SIZES),
    ]
    tensors = [tensor for index, layer in enumerate(layers) for tensor in layer_tensors(index, layer)]
    return write_gguf(path, entries, tensors, progress=progress)


def layer_tensors(index: int, layer: LayerBranch) -> list[NewTensor]:
    """Return a layer's arrays as tensors to write, under the names they have in a hybrid."""
    tensors = []
    for field, name in TENSOR_NAMES.items():
        array: Floats | PackedRows | None = getattr(layer, field)
        if array is not None:
            tensors.append(_tensor(f"blk.{index}.{name}", array))
    return tensors


def _tensor(name: str, array: Floats | PackedRows) -> NewTensor:
    shape = tuple(reversed(array.shape))
    if isinstance(array, PackedRows):
        data = array.data
        return NewTensor(name, shape, array.type_id, len(data), lambda: data)
    type_id, stored = (F16, "<f2") if array.dtype == np.float16 else (F32, "<f4")
    return NewTensor(name, shape, type_id, array.nbytes, array.astype(stored).tobytes)
