"""Checkpoints of a run: whole or not at all, so that a run that is killed goes on from the last one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from training.hybrid import Hybrid


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: steps done, seconds trained, and the best development cost with its step."""

    step: int = 0
    seconds: float = 0.0
    best: float = float("inf")
    best_step: int = -1


def save(path: Path, model: Hybrid, optimizer: Any, progress: Progress) -> None:
    """Write a checkpoint; the file of that name is replaced when the new one is on disk."""
    part = path.with_name(f".{path.name}.part")
    values = (progress.step, progress.seconds, progress.best, progress.best_step)
    with part.open("wb") as file:
        torch.save(
            {"progress": values, "weights": model.mixers.state_dict(), "optimizer": optimizer.state_dict()},
            file,
        )
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def load(path: Path, model: Hybrid, optimizer: Any | None = None) -> Progress:
    """Take a checkpoint's weights, and the optimizer's state if one is given."""
    stored = torch.load(path, weights_only=True)
    model.mixers.load_state_dict(stored["weights"])
    if optimizer is not None:
        optimizer.load_state_dict(stored["optimizer"])
    return Progress(*stored["progress"])
