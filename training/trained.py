"""The weights of a model in training as the product's graft takes them, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from skippy_chat.models.branch import BranchShape, BranchWeights, Floats, LayerBranch, PackedRows
from training.base import dequantise
from training.hybrid import Hybrid

_Q8_0 = 8


@dataclass(frozen=True, slots=True)
class TrainedBranch:
    """Every layer's branch of ``model``, in float32."""

    model: Hybrid

    @property
    def shape(self) -> BranchShape:
        """The sizes of every layer's branch."""
        return self.model.shape

    def layer(self, index: int, width: int) -> LayerBranch:
        """Return one layer's weights."""
        mixer = self.model.mixers[index]
        rows = _array(mixer.project_in).copy()
        assert rows.shape[1] == width
        if mixer.kind == "adapter":
            rows[2 * mixer.shape.inner :] = 0
        return LayerBranch(
            project_in=rows,
            conv_weight=_array(mixer.conv_weight),
            conv_bias=_array(mixer.conv_bias),
            dt_bias=_array(mixer.dt_bias),
            decay=_array(mixer.decay())[:, None],
            skip=_array(mixer.skip)[:, None],
            project_out=_array(mixer.project_out),
            norm=_array(mixer.norm),
        )


def _array(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
    return array


@torch.no_grad()  # type: ignore[untyped-decorator]
def take(model: Hybrid, branch: BranchWeights, source: Path) -> None:
    """Give ``model`` the weights of a branch, read from ``source``; of the kind ``full``.

    Raises:
        ValueError: the branch has another shape.
    """
    if branch.shape != model.shape:
        raise ValueError(f"The branch of {source} has another shape: {branch.shape}.")
    for index, mixer in enumerate(model.mixers):
        layer = branch.layer(index, model.sizes.width)
        mixer.project_in.copy_(_rows(layer.project_in, source))
        mixer.project_out.copy_(_rows(layer.project_out, source))
        mixer.conv_weight.copy_(torch.tensor(layer.conv_weight))
        mixer.conv_bias.copy_(torch.tensor(layer.conv_bias))
        mixer.dt_bias.copy_(torch.tensor(layer.dt_bias))
        mixer.log_decay.copy_(torch.log(-torch.tensor(layer.decay[:, 0])))
        mixer.skip.copy_(torch.tensor(layer.skip[:, 0]))
        mixer.norm.copy_(torch.tensor(layer.norm))


def _rows(rows: Floats | PackedRows, source: Path) -> Tensor:
    if isinstance(rows, PackedRows):
        assert rows.type_id == _Q8_0
        return torch.from_numpy(dequantise(rows.data, "Q8_0", source)).reshape(rows.shape)
    return torch.from_numpy(rows)
