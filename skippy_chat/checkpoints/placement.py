"""Where states are worth their bytes: plain rules over canonical cuts, without I/O.

Invariant: a state is wanted only at a canonical cut, and the answer depends only on what stands before it.

The policy: every boundary a person can return to (end of system, of a message, of a prompt, of an answer) and
the last cut before a divergence get one; inside a long message one follows when reading that far again
costs more than keeping it, taken as the distance at which the KV rows weigh what the state weighs.
"""

from __future__ import annotations

import enum

GRID_TOKENS = 256
"""Distance of the canonical cuts inside a message, in tokens."""

MIN_SPACING = 1024
"""Fewest tokens between two states inside one message."""


class Cut(enum.Enum):
    """Why a canonical cut is one."""

    END_OF_SYSTEM = "end_of_system"
    END_OF_MESSAGE = "end_of_message"
    END_OF_PROMPT = "end_of_prompt"  # end of the last message, before the generation prompt
    GENERATION_PROMPT = "generation_prompt"  # real end of the prompt, where the logits are kept too
    END_OF_ANSWER = "end_of_answer"
    DIVERGENCE = "divergence"  # last cut before a prompt left the tree
    GRID = "grid"


def spacing(state_bytes: int, kv_bytes_per_token: int) -> int:
    """Tokens between two states inside a message."""
    return max(MIN_SPACING, state_bytes // max(kv_bytes_per_token, 1))


def wants_state(cut: Cut, *, state_bytes: int, kv_bytes_per_token: int, since_last_state: int) -> bool:
    """Say whether a partial state is wanted at ``cut``.

    ``state_bytes`` is 0 for models without partial state, which want none; ``since_last_state`` counts the
    tokens since the nearest state above (since the root when there is none).
    """
    if state_bytes <= 0:
        return False
    if cut is not Cut.GRID:
        return True
    return since_last_state >= spacing(state_bytes, kv_bytes_per_token)
