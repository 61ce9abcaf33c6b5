"""How long the parts of a run are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many tokens each part of a run has; what does not fit a small context is made smaller, or left out.

    ``tails`` are the lengths of changed tails that fit, ``left_out`` those that do not.
    """

    prefix: int
    tail: int
    head: int
    turn: int
    inside: int
    tails: tuple[int, ...]
    left_out: tuple[int, ...]
    prompt: int

    @classmethod
    def fitting(cls, prefix: int, context: int) -> Sizes:
        """Return the sizes for a wanted prefix and a context, in tokens."""
        tail = min(120, context // 8)
        turn = min(40, context // 16)
        # What templates write around messages counts too, so a quarter of a small context is kept free.
        room = context - min(context // 4, 256)
        head = max(16, min(400, prefix // 10, context // 8))
        spoken = head + 3 * turn
        inside = min(300, max(8, (room - spoken) // 4))
        wanted = (1, 10, 100, 1000)
        fits = tuple(tokens for tokens in wanted if spoken + inside + tokens <= room)
        return cls(
            prefix=max(8, min(prefix, room - 2 * tail)),
            tail=tail,
            head=head,
            turn=turn,
            inside=inside,
            tails=fits,
            left_out=tuple(tokens for tokens in wanted if tokens not in fits),
            prompt=min(512, room // 2),
        )
