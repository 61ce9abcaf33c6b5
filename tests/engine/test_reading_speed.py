"""How fast a worker reads, as far as it has read."""

from __future__ import annotations

import pytest

from skippy_chat.engine.reading_speed import ENOUGH_TOKENS, REMEMBERED_TOKENS, ReadingSpeed


def test_nothing_is_said_before_enough_was_read() -> None:
    speed = ReadingSpeed()
    assert speed.seconds(100) is None
    speed.learn(ENOUGH_TOKENS - 1, 1.0)
    assert speed.seconds(100) is None
    speed.learn(1, 1.0)
    assert speed.seconds(ENOUGH_TOKENS) == pytest.approx(2.0)


def test_a_step_that_read_nothing_changes_nothing() -> None:
    speed = ReadingSpeed()
    speed.learn(0, 5.0)
    speed.learn(100, 0.0)
    assert speed.seconds(1) is None


def test_what_was_read_last_counts_most() -> None:
    speed = ReadingSpeed()
    speed.learn(REMEMBERED_TOKENS + 1, 1.0)
    for _ in range(8):
        speed.learn(REMEMBERED_TOKENS, 100.0)
    told = speed.seconds(REMEMBERED_TOKENS)
    assert told is not None
    assert told == pytest.approx(100.0, rel=0.05)
