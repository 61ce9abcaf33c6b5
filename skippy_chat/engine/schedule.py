"""Schedules as the ledger keeps them: runs of (tokens, single), from position 0."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from skippy_chat.checkpoints.placement import Cut
from skippy_chat.checkpoints.types import Edge, Mode
from skippy_chat.engine.planning import PlannedEdge
from skippy_chat.errors import NativeError

Runs = list[tuple[int, bool]]


def runs_of(edges: Iterable[PlannedEdge]) -> Runs:
    """Return the runs that computed ``edges``: one per decode call of many tokens, single steps put together."""
    runs: Runs = []
    for planned in edges:
        tokens, single = planned.stop - planned.start, planned.mode is Mode.SINGLE
        if single and runs and runs[-1][1]:
            runs[-1] = (runs[-1][0] + tokens, True)
        else:
            runs.append((tokens, single))
    return runs


def edges_from_runs(ids: array[int], runs: Sequence[tuple[int, bool]]) -> list[PlannedEdge]:
    """Return the edges that compute exactly ``ids``, by the first runs of a schedule.

    Raises:
        NativeError: the runs have no cut at the end of ``ids``.
    """
    edges: list[PlannedEdge] = []
    start = 0
    for tokens, single in runs:
        if start == len(ids):
            break
        stop = start + tokens
        mode = Mode.SINGLE if single else Mode.BATCH
        edges.append(PlannedEdge(start, stop, mode, Cut.GRID, Edge.of(ids[start:stop], mode)))
        start = stop
    if start != len(ids):
        raise NativeError(f"The ledger's schedule has no cut at token {len(ids)}.", "Its record is damaged.")
    return edges
