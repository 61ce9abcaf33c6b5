"""Models to measure: the base with a branch's file, as it is or with its recurrence taken away."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skippy_chat.models.branch import BranchShape, BranchWeights, LayerBranch
from skippy_chat.models.branch_file import BranchFile, read_branch
from skippy_chat.models.default import default_label
from skippy_chat.models.graft import graft

_GONE = np.float32(-1e6)


@dataclass(frozen=True, slots=True)
class WithoutRecurrence:
    """A branch whose state lasts for one token; convolution, skip and gate are as they were."""

    branch: BranchFile

    @property
    def shape(self) -> BranchShape:
        """The sizes of every layer's branch."""
        return self.branch.shape

    def layer(self, index: int, width: int) -> LayerBranch:
        """Return one layer's weights."""
        layer = self.branch.layer(index, width)
        return replace(layer, decay=np.full_like(layer.decay, _GONE))


def model_with(base: Path, branch: Path, target: Path, *, recurrence: bool = True) -> Path:
    """Write the base with a branch to ``target``, with the default model's template."""
    found = read_branch(branch)
    weights: BranchWeights = found if recurrence else WithoutRecurrence(found)
    target.parent.mkdir(parents=True, exist_ok=True)
    return graft(base, target, weights, default_label(), progress=lambda *_: None).path


def pinned(base: Path, branch: Path) -> tuple[int, str]:
    """Return the size and the SHA-256 of the model that the program would make with a branch, by its present label."""
    with tempfile.TemporaryDirectory(prefix="skippy-pin-") as scratch:
        made = graft(
            base, Path(scratch) / "model.gguf", read_branch(branch), default_label(), progress=lambda *_: None
        )
        return made.size, made.sha256
