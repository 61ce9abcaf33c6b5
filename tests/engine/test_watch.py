"""What counts as a hang: stopped, waiting for nothing, busy for ever; never merely slow, never a laptop that slept."""

from __future__ import annotations

from skippy_chat.engine.watch import Limits, Watch

LIMITS = Limits(silence=10, idle=30, busy=100)


def beats(watch: Watch, seconds: int, *, processor: float) -> float:
    """Let a worker beat once a second, using that much processor time in each; return the seconds until the verdict."""
    used = 0.0
    for second in range(seconds):
        watch.waited(1)
        if watch.verdict:
            return second
        used += processor
        watch.beat(used)
    return seconds


def test_silence_is_a_hang() -> None:
    watch = Watch(LIMITS)
    watch.waited(9.9)
    assert watch.verdict == ""
    watch.waited(0.1)
    assert watch.verdict == "gave no sign of life for 10 seconds"


def test_a_beat_breaks_the_silence_but_is_no_work() -> None:
    watch = Watch(LIMITS)
    assert 29 <= beats(watch, 200, processor=0.001) <= 31
    assert watch.verdict == "neither answered nor worked for 30 seconds"


def test_processor_time_is_work() -> None:
    watch = Watch(LIMITS)
    assert beats(watch, 90, processor=0.1) == 90
    assert watch.verdict == ""


def test_even_work_must_come_to_something() -> None:
    watch = Watch(LIMITS)
    assert 99 <= beats(watch, 200, processor=2.0) <= 101
    assert watch.verdict == "worked for 100 seconds without a result"


def test_any_frame_begins_anew() -> None:
    watch = Watch(LIMITS)
    for _ in range(5):
        assert beats(watch, 25, processor=0.0) == 25
        watch.frame()
    assert watch.verdict == ""


def test_patience_stretches_every_limit() -> None:
    assert LIMITS.times(2) == Limits(silence=20, idle=60, busy=200, goodbye=60)
