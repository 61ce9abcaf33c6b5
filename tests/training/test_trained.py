"""A branch that was written comes back into the model, to the last bit of what the file holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.models.branch import BranchShape
from skippy_chat.models.branch_file import read_branch
from tests.models.small import small_llama

torch = pytest.importorskip("torch", reason="torch is not installed here; see training/README.md")

from training.base import BaseWeights  # noqa: E402 - after the skip
from training.export import export  # noqa: E402
from training.hybrid import Hybrid  # noqa: E402
from training.trained import TrainedBranch, take  # noqa: E402

SHAPE = BranchShape(inner=32, state=16, heads=2, gated_norm=True)


def small(tmp_path: Path, seed: int, shape: BranchShape = SHAPE) -> Any:
    base = tmp_path / "base.gguf"
    small_llama(base)
    model = Hybrid(BaseWeights(base), shape, precision=torch.float32, seed=seed)
    for mixer in model.mixers:
        mixer.project_out.data += torch.randn(mixer.project_out.shape) * 0.1
    return model


def written(model: Any, target: Path) -> Path:
    export(TrainedBranch(model), model.sizes.layers, model.sizes.width, target, "a test")
    return target


def test_a_branch_is_taken_as_it_was_written(tmp_path: Path) -> None:
    first = written(small(tmp_path, 1), tmp_path / "first.gguf")
    other = small(tmp_path, 2)
    take(other, read_branch(first), first)
    assert written(other, tmp_path / "second.gguf").read_bytes() == first.read_bytes()
    assert all(weight.requires_grad for weight in other.mixers.parameters())


def test_a_branch_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    first = written(small(tmp_path, 1), tmp_path / "first.gguf")
    with pytest.raises(ValueError, match="another shape"):
        take(small(tmp_path, 1, replace(SHAPE, heads=4)), read_branch(first), first)
