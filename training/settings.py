"""How one run trains; everything that its result depends on, written beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import cos, pi
from pathlib import Path

from skippy_chat.models.branch import BranchShape

KINDS = ("full", "forgetful", "adapter")
_WARM = 0.02  # of the time


@dataclass(frozen=True, slots=True)
class Settings:
    """``minutes`` of training, over all restarts; ``rate`` at the top of its curve and ``last_rate`` at its end.

    ``shared``: the minutes are the processor's, divided by the threads, so that other programs take nothing away.
    """

    kind: str = "full"
    minutes: float = 80.0
    batch: int = 16
    rate: float = 2e-3
    last_rate: float = 1e-4
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 1
    threads: int = 2
    prefix_every: int = (
        2  # steps whose gradient goes through the system prompt too: it costs half as much again
    )
    dev_every: int = 60  # steps
    save_every: float = 120.0  # seconds
    shared: bool = False

    @property
    def shape(self) -> BranchShape:
        """The branch's sizes; the plain adapter is given the same number of weights, three percent more."""
        if self.kind == "adapter":
            return BranchShape(inner=288, state=32, heads=9, gated_norm=True)
        return BranchShape(inner=256, state=32, heads=4, gated_norm=True)

    def rate_at(self, share: float) -> float:
        """Return the learning rate when ``share`` (0 to 1) of the time is over."""
        if share < _WARM:
            return self.rate * max(share / _WARM, 0.02)
        fall = min((share - _WARM) / (1 - _WARM), 1.0)
        return self.last_rate + (self.rate - self.last_rate) * 0.5 * (1 + cos(pi * fall))

    def write(self, path: Path) -> None:
        """Write them as JSON."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read what ``write`` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))
