"""The sentences about reuse: exact counts, the reason for a miss, and both styles saying the same."""

from __future__ import annotations

import pytest

from skippy_chat.events import CacheUse, MissReason, StepFinished, Timings, Usage
from skippy_chat.wording import PrefillRate, plural, progress_line, reuse_line, reuse_sentence, summed

FAST = Timings(restore_ms=20, prefill_ms=0, first_token_ms=42.4, tokens_per_second=50)
SLOW = Timings(restore_ms=30, prefill_ms=3100, first_token_ms=3200)
DIVERGED = MissReason("diverged", position=589, message=3)


@pytest.mark.parametrize(
    ("usage", "cache", "timings", "line", "sentence"),
    [
        (
            Usage(1105, 1105, 0, 9, 1114),
            CacheUse("live", 1105),
            FAST,
            "reused 1,105 of 1,105 tokens · 42 ms · 50.0 tok/s",
            "Reused 1,105 of 1,105 tokens, in 42 milliseconds. Written at 50.0 tokens per second.",
        ),
        (
            Usage(1103, 589, 514, 9, 1112),
            CacheUse("disk", 589, DIVERGED, 589),
            SLOW,
            "reused 589 of 1,103 tokens · 3.2 s (from disk) · the rest: diverged at token 589",
            (
                "Reused 589 of 1,103 tokens from disk, in 3.2 seconds."
                " The rest was read: diverged at token 589."
            ),
        ),
        (
            Usage(1103, 0, 1103, 9, 1112),
            CacheUse("none", 0, MissReason("damaged", detail="wrong digest")),
            SLOW,
            "read 1,103 tokens: damaged: wrong digest · 3.2 s",
            "Read 1,103 tokens: damaged: wrong digest, in 3.2 seconds.",
        ),
    ],
)
def test_what_was_reused_or_why_not(
    usage: Usage, cache: CacheUse, timings: Timings, line: str, sentence: str
) -> None:
    assert reuse_line(usage, cache, timings) == line
    assert reuse_sentence(usage, cache, timings) == sentence


def test_what_reuse_saved_is_an_estimate_from_what_was_read_before() -> None:
    rate = PrefillRate()
    reused = Usage(1105, 1101, 4, 9, 1114), CacheUse("live", 1101), FAST
    assert reuse_line(*reused, rate=rate) == reuse_line(*reused)
    rate.learn(Usage(20, 0, 20), Timings(prefill_ms=1))
    assert rate.tokens_per_ms == 0
    rate.learn(Usage(1000, 0, 1000), Timings(prefill_ms=10_000))
    assert reuse_line(*reused, rate=rate) == (
        "reused 1,101 of 1,105 tokens · 42 ms instead of about 11.1 s · 50.0 tok/s"
    )
    cold = Usage(1103, 0, 1103, 9, 1112), CacheUse("none", 0, MissReason("nothing_stored")), SLOW
    assert "instead of" not in reuse_line(*cold, rate=rate)


def test_steps_together_are_their_sums() -> None:
    first = StepFinished(
        usage=Usage(1100, 1000, 100, 10, 1110),
        cache=CacheUse("disk", 1000),
        timings=Timings(20.0, 300.0, 330.0, 100.0, 50.0),
    )
    second = StepFinished(
        usage=Usage(1150, 1110, 40, 30, 1180),
        cache=CacheUse("live", 1110, DIVERGED),
        timings=Timings(0.0, 120.0, 0.0, 300.0, 90.0),
    )
    usage, cache, timings = summed([first, second])
    assert usage == Usage(2250, 2110, 140, 40, 1180)
    assert cache == second.cache
    assert timings == Timings(20.0, 420.0, 450.0, 400.0, 80.0)
    assert summed([first]) == (first.usage, first.cache, first.timings)


def test_small_words() -> None:
    assert [plural(count, "message") for count in (0, 1, 1234)] == [
        "0 messages",
        "1 message",
        "1,234 messages",
    ]
    assert progress_line("Reading", 256, 1024) == "Reading: 256 of 1,024"
