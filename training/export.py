"""Turns a checkpoint into the one file that comes with the program: the projections as Q8_0, the rest as float32."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from skippy_chat.models.branch import BranchWeights, LayerBranch, PackedRows
from skippy_chat.models.branch_file import write_branch
from skippy_chat.models.writing import Written
from training.quantise import to_q8_0

MOST_BYTES = 16 << 20
_Q8_0 = 8


def export(branch: BranchWeights, layers: int, width: int, target: Path, description: str) -> Written:
    """Write a trained branch to ``target``.

    Raises:
        ValueError: it is larger than what may be committed.
    """
    packed = [_packed(branch.layer(index, width)) for index in range(layers)]
    written = write_branch(target, branch.shape, packed, width, description, progress=lambda *_: None)
    if written.size > MOST_BYTES:
        raise ValueError(f"{target} has {written.size} bytes; {MOST_BYTES} is the limit.")
    return written


def _packed(layer: LayerBranch) -> LayerBranch:
    rows_in, rows_out = layer.project_in, layer.project_out
    assert not isinstance(rows_in, PackedRows)
    assert not isinstance(rows_out, PackedRows)
    return replace(
        layer,
        project_in=PackedRows(rows_in.shape, _Q8_0, to_q8_0(rows_in.astype(np.float32))),
        project_out=PackedRows(rows_out.shape, _Q8_0, to_q8_0(rows_out.astype(np.float32))),
    )
