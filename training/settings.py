"""How one run trains; everything that its result depends on, written beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import cos, pi
from pathlib import Path

from skippy_chat.models.branch import BranchShape

KINDS = ("full", "forgetful", "adapter")
_WARM, _WARM_AGAIN = 0.02, 0.08  # of a part's time


@dataclass(frozen=True, slots=True)
class Settings:
    """``minutes`` of training, over all restarts; ``rate`` at the top of its curve and ``last_rate`` at its end.

    ``shared``: the minutes are the processor's, divided by the threads, so that other programs take nothing away.
    """

    kind: str = "full"
    minutes: float = 90.0
    mending: float = (
        1 / 6
    )  # of the time, at its end: calls that go wrong are mended too, at a rate that falls anew
    slips: float = 0.25  # of the calls that name a file, in that time
    batch: int = 16
    rate: float = 2e-3
    last_rate: float = 1e-4
    mending_rate: float = 5e-4  # the highest of the last part; it falls to a twentieth
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 1
    first_step: int = 0  # of a run that goes on from a branch's file: the number of its first batch
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

    def is_mending(self, share: float) -> bool:
        """Return whether the last part has begun when ``share`` (0 to 1) of the time is over."""
        return share >= 1 - self.mending

    def rate_at(self, share: float) -> float:
        """Return the learning rate when ``share`` (0 to 1) of the time is over: two arcs, each after a short rise."""
        if self.is_mending(share):
            done = (share - 1 + self.mending) / self.mending
            return _arc(done, _WARM_AGAIN, self.mending_rate, self.mending_rate / 20)
        return _arc(share / (1 - self.mending), _WARM, self.rate, self.last_rate)

    def write(self, path: Path) -> None:
        """Write them as JSON."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read what ``write`` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def _arc(share: float, warm: float, top: float, last: float) -> float:
    if share < warm:
        return top * max(share / warm, 0.02)
    fall = min((share - warm) / (1 - warm), 1.0)
    return last + (top - last) * 0.5 * (1 + cos(pi * fall))
