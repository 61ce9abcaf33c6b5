"""The ledger: exactly which ids a model was fed for one message, and in which decode calls.

Invariant: replaying ``schedule`` over ``ids`` from an empty context repeats every sum that was computed.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens fed together: one decode call of ``tokens`` tokens or, if ``single``, that many calls of one token."""

    tokens: int
    single: bool


@dataclass(frozen=True, slots=True)
class Ledger:
    """Ids of prompt and answer from position 0, and how they were fed.

    The answer ends before its end-of-generation token. ``schedule`` covers the ids really fed: the last sampled id may
    never have been. ``identity`` is the digest of the model identity, ``sampling`` the sampler settings as JSON text.

    Raises:
        ValueError: the parts contradict each other.
    """

    identity: str
    ids: tuple[int, ...]
    prompt_tokens: int
    schedule: tuple[Run, ...]
    sampling: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.prompt_tokens <= len(self.ids):
            raise ValueError(f"{self.prompt_tokens} prompt tokens of {len(self.ids)} ids")
        if any(run.tokens < 1 for run in self.schedule):
            raise ValueError("a run holds at least one token")
        if self.fed > len(self.ids):
            raise ValueError(f"{self.fed} tokens fed of {len(self.ids)} ids")

    @property
    def answer(self) -> AnswerIds:
        """The part that is the answer's."""
        return AnswerIds(self.answer_ids, self.answer_fed)

    @property
    def answer_ids(self) -> tuple[int, ...]:
        """The sampled ids."""
        return self.ids[self.prompt_tokens :]

    @property
    def fed(self) -> int:
        """How many of ``ids`` were fed."""
        return sum(run.tokens for run in self.schedule)

    @property
    def answer_fed(self) -> int:
        """How many of ``answer_ids`` were fed."""
        return max(0, self.fed - self.prompt_tokens)


@dataclass(frozen=True, slots=True)
class AnswerIds:
    """The sampled ids of one answer, and how many of them were fed."""

    ids: tuple[int, ...]
    fed: int


def pack_ids(ids: Sequence[int]) -> bytes:
    """Write ids as little-endian int32."""
    packed = array("i", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack_ids(blob: bytes) -> tuple[int, ...]:
    """Read what ``pack_ids`` wrote.

    Raises:
        ValueError: not whole int32 values.
    """
    packed = array("i")
    packed.frombytes(blob)
    if sys.byteorder == "big":
        packed.byteswap()
    return tuple(packed)


def pack_schedule(schedule: Sequence[Run]) -> tuple[bytes, bytes]:
    """Write a schedule as two blobs: the tokens of each run, and the gaps between the runs that are single."""
    singles = [number for number, run in enumerate(schedule) if run.single]
    gaps = [after - before - 1 for before, after in zip([-1, *singles], singles, strict=False)]
    return _pack_varints(run.tokens for run in schedule), _pack_varints(gaps)


def unpack_schedule(cuts: bytes, sampled: bytes) -> tuple[Run, ...]:
    """Read what ``pack_schedule`` wrote.

    Raises:
        ValueError: the blobs are cut off or do not belong together.
    """
    lengths = list(_unpack_varints(cuts))
    singles = set()
    at = -1
    for gap in _unpack_varints(sampled):
        at += gap + 1
        singles.add(at)
    if at >= len(lengths):
        raise ValueError("a single run beyond the end of the schedule")
    return tuple(Run(tokens, number in singles) for number, tokens in enumerate(lengths))


def shared_prefix(first: bytes, second: bytes) -> int:
    """Return how many int32 values two blobs have in common from the start."""
    low, high = 0, min(len(first), len(second)) // 4
    while low < high:
        middle = (low + high + 1) // 2
        # Everything before ``low`` is known to be equal, so each step compares only what is new.
        if first[4 * low : 4 * middle] == second[4 * low : 4 * middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _pack_varints(values: Iterable[int]) -> bytes:
    out = bytearray()
    for value in values:
        rest = value
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)


def _unpack_varints(blob: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in blob:
        value |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            yield value
            value = shift = 0
    if shift:
        raise ValueError("a number is cut off")
