"""What a run is to measure: lengths, repeats and sizes, chosen once, so that suites hold no figures of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

LENGTHS = (1024, 2048, 4096, 8192, 16384)
QUICK_LENGTHS = (512, 1024)
SUITES = ("reuse", "restore", "record", "engine", "peers", "growth")
PEER_SUITES = frozenset({"engine", "peers"})

_ROOM = 512


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of one run, in tokens where nothing else is said.

    ``pairs`` is how many interleaved pairs a median is of, ``repeats`` how often slow things are done, ``unique`` and
    ``answer`` the prompt and answer of the recording pairs, ``decode`` the tokens of a decode measurement.
    """

    lengths: tuple[int, ...]
    pairs: int
    repeats: int
    unique: int
    answer: int
    decode: int
    turn: int
    grow_to: int
    sessions: int
    peers: Path | None = None

    @classmethod
    def of(cls, *, quick: bool, lengths: tuple[int, ...] = (), peers: Path | None = None) -> Plan:
        """Return the default plan, or the quick one; ``lengths`` override its prompt lengths."""
        if quick:
            return cls(lengths or QUICK_LENGTHS, 3, 1, 512, 32, 32, 128, 2048, 20, peers)
        return cls(lengths or LENGTHS, 10, 3, 768, 64, 64, 256, 32768, 1000, peers)

    @property
    def context(self) -> int:
        """The context that all of it fits, as far as a model has it."""
        return max(*self.lengths, self.grow_to) + _ROOM

    def within(self, context: int) -> Plan:
        """Return the plan with turns, prompts and answers that fit a short context."""
        return replace(
            self,
            turn=min(self.turn, context // 20),
            unique=min(self.unique, room_in(context) // 2),
            answer=min(self.answer, context // 8),
            decode=min(self.decode, context // 8),
        )

    def fitting(self, context: int) -> tuple[tuple[int, ...], str]:
        """Return the lengths that fit a context, and what to say of those that do not.

        In place of the first that does not fit, the longest that does is measured.
        """
        room = room_in(context)
        fits = [length for length in self.lengths if length <= room]
        beyond = [length for length in self.lengths if length > room]
        if not beyond:
            return tuple(fits), ""
        longest = room // 256 * 256 or room
        if longest > max(fits, default=0):
            fits.append(longest)
        told = ", ".join(f"{length:,}" for length in beyond)
        return tuple(
            fits
        ), f"The context of {context:,} tokens ends before {told}; the longest is {max(fits):,}."


def room_in(context: int) -> int:
    """Return the longest prompt for a context; the rest is left for edits and answers."""
    return context - min(_ROOM, context // 2)
