"""Where states are worth their bytes: plain rules over canonical cuts, without I/O.

Invariant: a state is wanted only at a canonical cut. Which cuts get one never changes where a prefill stops, so it
moves no bit of any answer.

The policy: of one step, the end of the system prompt, the last cut before a divergence, the end of the prompt and the
end of the answer get a state, and the boundaries just before the end of the prompt up to ``STATES_PER_STEP`` in all.
Everything else that is read (a long message, an imported history) gets them spaced by cost.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

GRID_TOKENS = 256
"""Distance of the canonical cuts inside a message, in tokens."""

MIN_SPACING = 1024
"""Fewest tokens between two states inside one message."""

MIN_TAIL = 128
"""Fewest tokens before the state at the last cut inside a message, where rows are heavy and states light."""

STATES_PER_STEP = 4
"""States of one step, its answer's included, beside the spaced ones."""

NEAR_TOKENS = 32
"""A boundary so close before the end of a prompt, as before a generation prompt, waits until others have theirs."""

DENSE_STATES = 1024
"""When the budget holds so many states, the boundaries near the end of a prompt need no distance."""

REACH_TOKENS = 1 << 17
"""Tokens that a budget full of boundary states must reach over."""

SPACED_PART = 16
"""At most one in so many bytes of the budget goes to spaced states on that reach."""


class Cut(enum.Enum):
    """Why a canonical cut is one."""

    END_OF_SYSTEM = "end_of_system"
    END_OF_MESSAGE = "end_of_message"
    END_OF_PROMPT = "end_of_prompt"  # end of the last message, before the generation prompt
    GENERATION_PROMPT = "generation_prompt"  # real end of the prompt, where the logits are kept too
    END_OF_ANSWER = "end_of_answer"
    DIVERGENCE = "divergence"  # last cut before a prompt left the tree
    GRID = "grid"


@dataclass(frozen=True, slots=True)
class Costs:
    """What a model's checkpoints weigh, in bytes, and the budget they share.

    ``state`` is 0 for models without partial state, ``row`` (one token's attention rows) for those without attention.
    """

    state: int
    row: int
    budget: int


def spacing(costs: Costs) -> int:
    """Tokens between two states inside a message.

    The rows between two states weigh at least what a state weighs, where there are rows; and a budget's part reaches
    over ``REACH_TOKENS``.
    """
    return max(MIN_SPACING, _rows_of_a_state(costs), SPACED_PART * _reach(costs))


def tail_spacing(costs: Costs) -> int:
    """Tokens that the state at the last cut inside a message must save: of rows at least what it weighs itself."""
    return max(MIN_TAIL if costs.row else MIN_SPACING, _rows_of_a_state(costs), gap(costs))


def gap(costs: Costs) -> int:
    """Tokens that a state at a boundary near the end of a prompt must save to be taken."""
    return 0 if costs.budget >= DENSE_STATES * costs.state else _reach(costs)


def _rows_of_a_state(costs: Costs) -> int:
    return costs.state // costs.row if costs.row else 0


def _reach(costs: Costs) -> int:
    return REACH_TOKENS * costs.state // max(costs.budget, 1)


def place(cuts: Sequence[tuple[int, Cut]], costs: Costs, *, above: int, diverged: int) -> frozenset[int]:
    """Choose the positions of a prompt at which states are taken.

    ``cuts`` are the canonical cuts still to be read, in order, the last one the end of the prompt; ``above`` is the
    position of the nearest state before them (0: none), ``diverged`` where the prompt leaves the tree. A model without
    partial state gets none.
    """
    if costs.state <= 0 or not cuts:
        return frozenset()
    chosen = {cuts[-1][0]}
    chosen |= {stop for stop, cut in cuts if cut is Cut.END_OF_SYSTEM or stop == diverged}
    bounds = [above, *(stop for stop, cut in cuts if cut is not Cut.GRID)]
    worth = [stop for before, stop in pairwise(bounds) if stop - before >= gap(costs)]
    # From the end back: what is edited next is most likely the last message, then the one before it.
    for stop in sorted(worth, key=lambda stop: (cuts[-1][0] - stop <= NEAR_TOKENS, -stop)):
        if len(chosen) >= STATES_PER_STEP - 1:  # one is the answer's
            break
        chosen.add(stop)
    return frozenset(chosen) | frozenset(_spaced(cuts, chosen, costs, above))


def _spaced(cuts: Sequence[tuple[int, Cut]], chosen: set[int], costs: Costs, last: int) -> Iterator[int]:
    """Yield what lies far enough from the state before it.

    The end of a message is preferred to the grid, and the last cut on the grid to others: a question at the end of a
    long message is what changes first.
    """
    by_grid = spacing(costs)
    by_message = max(MIN_SPACING, gap(costs), by_grid // 2)
    tail = max((stop for stop, cut in cuts if cut is Cut.GRID), default=0)
    for stop, cut in cuts:
        enough = tail_spacing(costs) if stop == tail else by_grid if cut is Cut.GRID else by_message
        if stop in chosen:
            last = stop
        elif stop - last >= enough:
            last = stop
            yield stop


def wanted_in_answer(costs: Costs, since_last_state: int) -> bool:
    """Say whether a cut inside a growing answer gets a state, so many tokens after the last one."""
    return costs.state > 0 and since_last_state >= spacing(costs)
