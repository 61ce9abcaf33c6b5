"""The weights of a model in training as the product's graft takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from skippy_chat.models.branch import BranchShape, LayerBranch
from training.hybrid import Hybrid


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
