"""Where states are wanted."""

from __future__ import annotations

import pytest

from skippy_chat.checkpoints import Cut, wants_state


@pytest.mark.parametrize("cut", [cut for cut in Cut if cut is not Cut.GRID])
def test_every_boundary_and_divergence_gets_a_state(cut: Cut) -> None:
    assert wants_state(cut, state_bytes=150 << 20, kv_bytes_per_token=65536, since_last_state=1)


@pytest.mark.parametrize("cut", list(Cut))
def test_a_model_without_partial_state_wants_none(cut: Cut) -> None:
    assert not wants_state(cut, state_bytes=0, kv_bytes_per_token=65536, since_last_state=100_000)


@pytest.mark.parametrize(
    ("state_bytes", "per_token", "distance"),
    [(1000, 20_000, 1024), (150 << 20, 64 << 10, 2400), (4 << 20, 0, 4 << 20)],
)
def test_inside_a_message_states_are_spaced_by_cost(state_bytes: int, per_token: int, distance: int) -> None:
    def wanted(since: int) -> bool:
        return wants_state(
            Cut.GRID, state_bytes=state_bytes, kv_bytes_per_token=per_token, since_last_state=since
        )

    assert wanted(distance)
    assert not wanted(distance - 1)
