"""Room in the context: what a prompt fills of it, by kind, and what leaving things out gave back.

Invariant: what is told is counted in the prompt that would be read, not guessed from the text.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """What the conversation fills as it stands, in tokens; the four kinds add up to ``used``.

    A last message that was refused, since it did not fit, is counted in. ``system`` is what its system prompt takes,
    ``tools`` the tools that are offered, ``results`` what tools gave, ``messages`` all that people and the model said,
    and the beginning of the answer. ``droppable`` is what ``drop_results`` would leave out of the results, about.
    """

    used: int
    context_size: int
    system: int
    tools: int
    messages: int
    results: int
    droppable: int = 0

    @property
    def over(self) -> int:
        """Tokens too many to answer: the prompt, and one of the answer, must fit; 0 where they do."""
        return max(0, self.used + 1 - self.context_size)


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many results of tools were left out, and how many tokens the prompt has less."""

    results: int
    tokens: int
