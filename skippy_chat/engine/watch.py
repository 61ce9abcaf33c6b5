"""When a silent worker counts as hung. Pure: seconds and frames go in, a verdict comes out.

A worker beats every second from a thread of its own, also while native code runs, and says how much processor time
it has used. So three things can be told apart: a process that is stopped (no beats), one that waits for what never
comes (beats, no work, no processor time), and one that is only slow (beats and processor time).

Invariant: only time that the client really waited counts. A laptop that slept, or a program that was stopped together
with its worker, comes back to a worker that is not blamed for it.
"""

from __future__ import annotations

from dataclasses import dataclass

BEAT_SECONDS = 1.0
_WORK = 0.5  # processor seconds that are more than beating takes in any of the limits


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a worker may keep its client waiting, in seconds: generous, since a healthy one must never be killed.

    ``silence`` without a frame or a beat; ``idle`` without a frame or processor time (a slow disk uses none either);
    ``busy`` without a frame however busy it is (one batch of the largest model on the slowest machine); ``goodbye``
    between a goodbye and the end of the process.
    """

    silence: float = 60.0
    idle: float = 300.0
    busy: float = 3600.0
    goodbye: float = 30.0

    def times(self, patience: float) -> Limits:
        """Return limits that are ``patience`` times as long."""
        return Limits(
            self.silence * patience, self.idle * patience, self.busy * patience, self.goodbye * patience
        )


DEFAULT_LIMITS = Limits()


class Watch:
    """Watches one worker while its client waits for it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._silent = self._idle = self._busy = 0.0
        self._processor: float | None = None

    def waited(self, seconds: float) -> None:
        """Count time in which the client waited."""
        self._silent += seconds
        self._idle += seconds
        self._busy += seconds

    def beat(self, processor: float) -> None:
        """Take in a beat and the processor seconds that the worker has used in its life."""
        self._silent = 0.0
        if self._processor is None or processor - self._processor >= _WORK:
            self._processor = processor
            self._idle = 0.0

    def frame(self) -> None:
        """Take in any other frame: it is a result, so everything begins anew."""
        self._silent = self._idle = self._busy = 0.0
        self._processor = None

    @property
    def verdict(self) -> str:
        """Why the worker counts as hung; empty while it does not."""
        if self._silent >= self._limits.silence:
            return f"gave no sign of life for {self._limits.silence:g} seconds"
        if self._idle >= self._limits.idle:
            return f"neither answered nor worked for {self._limits.idle:g} seconds"
        if self._busy >= self._limits.busy:
            return f"worked for {self._limits.busy:g} seconds without a result"
        return ""
