"""Where an answer's tokens come from: drawn by the model, or drawn again for a replay.

Invariant: a replay draws from the same random numbers as the answer did. Under a grammar a token may have been drawn a
second time because the first was refused; which ones were is recorded, so that a replay needs no grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skippy_chat.native.grammar import Constraint
from skippy_chat.native.sampler import Sampler


class Chooser(Protocol):
    """Chooses the tokens of one answer."""

    @property
    def redrawn(self) -> Sequence[int]:
        """Which tokens of the answer, by index, were drawn a second time."""

    def next(self, logits: NDArray[np.float32]) -> int | None:
        """Return the token that follows by these logits of shape (n_vocab,), or None where the answer ends.

        Raises:
            NativeError: no token may follow.
        """


class Draw:
    """Draws an answer, under a constraint or without.

    Args:
        sampler: draws the tokens.
        is_end: whether a token ends an answer.
        constraint: what may come next.
        is_over: asked behind each token whether the answer has to end there.
    """

    def __init__(
        self,
        sampler: Sampler,
        is_end: Callable[[int], bool],
        constraint: Constraint | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        self._sampler = sampler
        self._is_end = is_end
        self._constraint = constraint
        self._is_over = is_over
        self._count = 0
        self.redrawn: list[int] = []

    def next(self, logits: NDArray[np.float32]) -> int | None:
        """Return the next token, or None where the answer ends."""
        if self._count and self._is_over is not None and self._is_over():
            return None
        token = self._sampler.choose(logits, self._constraint)
        if self._is_end(token):
            return None
        if self._sampler.redrew:
            self.redrawn.append(self._count)
        self._count += 1
        return token


class DrawAgain:
    """Draws a recorded answer again, as freely as it was drawn.

    Args:
        sampler: as it was at the beginning of the answer.
        is_end: whether a token ends an answer.
        ids: the recorded answer.
        redrawn: which of its tokens were drawn a second time.
        ended: it came to an end by itself, so the row of logits behind its last token was looked at too.
    """

    def __init__(
        self,
        sampler: Sampler,
        is_end: Callable[[int], bool],
        ids: Sequence[int],
        redrawn: Collection[int],
        *,
        ended: bool,
    ) -> None:
        self._draw = Draw(sampler, is_end)
        self._sampler = sampler
        self._ids = ids
        self._wanted = frozenset(redrawn)
        self._ended = ended
        self._count = 0

    @property
    def redrawn(self) -> Sequence[int]:
        """Which tokens were drawn a second time."""
        return sorted(self._wanted)

    def next(self, logits: NDArray[np.float32]) -> int | None:
        """Return the next token, or None where the answer ends."""
        index = self._count
        self._count += 1
        if index == len(self._ids) and self._ended:
            return None
        if index in self._wanted:
            return self._sampler.choose(logits, _Only(self._ids[index]))
        return self._draw.next(logits)


class _Only:
    """A constraint that allows one token."""

    def __init__(self, token: int) -> None:
        self._token = token

    def allows(self, token: int) -> bool:
        return token == self._token

    def mask(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = ids == self._token
        return mask

    def accept(self, token: int) -> bool:
        return token == self._token
