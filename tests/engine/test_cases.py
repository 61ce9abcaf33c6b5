"""What people met elsewhere when state was to be reused, each shown not to happen here.

Recurrent and hybrid models throughout, because those are what cannot be rewound.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.errors import NativeError
from skippy_chat.events import CheckpointRecorded
from tests.engine.engines import Bench, Result, make_engine, numbers, same_logits
from tests.engine.loaded import load
from tests.models.rwkv import write_rwkv

pytestmark = [pytest.mark.native, pytest.mark.model]
TinyModel = Callable[[str], Path]
HYBRID = "falcon-h1-dense"
FAMILIES = [
    "mamba-dense",
    "mamba2-dense",
    "jamba-dense",
    "granitehybrid-dense",
    "nemotron_h-dense",
    "qwen35-dense",
    "lfm2-dense",
    "kimi-linear-moe",
    "deepseek32-moe",  # known as a whole only: its state is the whole sequence
    "rwkv7",
]


def start(model: Path, root: Path, system: int = 40) -> Bench:
    bench = Bench(make_engine(model, root))
    bench.messages.append({"role": "system", "content": numbers(1, system)})
    return bench


def all_cached(result: Result) -> bool:
    prompt, cached, prefilled = result.counts
    return (cached, prefilled) == (prompt, 0)


@pytest.fixture
def talk(tiny_model: TinyModel, tmp_path: Path) -> Bench:
    return start(tiny_model(HYBRID), tmp_path)


def test_an_appended_turn_reads_only_what_is_new(talk: Bench) -> None:
    """Elsewhere: 15,000 tokens read again every turn."""
    before = talk.say(numbers(2, 600))
    for turn in range(3, 7):
        after = talk.say(numbers(turn, 30))
        new = after.counts[0] - before.finished.usage.context_tokens
        assert after.counts[2] == new
        before = after


def test_reuse_never_shrinks_while_the_prefix_is_unchanged(talk: Bench) -> None:
    """Elsewhere: append-only requests fell back to one old position."""
    cached = [talk.say(numbers(turn, 25 + 40 * (turn % 3))).counts[1] for turn in range(2, 14)]
    assert cached == sorted(cached)
    assert cached[-1] > 12 * 25


def test_what_a_tool_call_recorded_is_still_there_after_a_plain_turn(talk: Bench) -> None:
    """Elsewhere: checkpoints made during tool calls vanished at the next plain turn."""
    talk.say(numbers(2, 50))
    for result in (3, 4):
        talk.messages.append({"role": "tool", "content": numbers(result, 80)})
        loop = talk.step()
        talk.keep(loop.reply)
    kept = (list(talk.messages), dict(talk.answers))
    talk.say(numbers(5, 40))
    talk.messages, talk.answers = kept[0][:-1], kept[1]
    assert all_cached(talk.step())


@pytest.mark.parametrize("system", [3, 40])
def test_short_conversations_resume_too(tiny_model: TinyModel, tmp_path: Path, system: int) -> None:
    """Elsewhere: a minimum of tokens before any checkpoint."""
    first = start(tiny_model(HYBRID), tmp_path, system)
    first.say("11 12 13")
    first.engine.close()
    second = start(tiny_model(HYBRID), tmp_path, system)
    second.messages.append({"role": "user", "content": "14 15"})
    assert second.step().counts[1] == system + 3  # the system message with its delimiters
    second.engine.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_resumes_after_a_restart(family: str, tiny_model: TinyModel, tmp_path: Path) -> None:
    """Elsewhere: restore succeeded and all was read again, or caching was off for good for these models."""
    model = tmp_path / "rwkv.gguf"
    if family == "rwkv7":
        write_rwkv(model, family)
    else:
        model = tiny_model(family)
    first = start(model, tmp_path / "store")
    first.say(numbers(2, 150))
    last = first.say(numbers(3, 60))
    first.engine.close()
    second = Bench(make_engine(model, tmp_path / "store"), first.messages[:-1], first.answers)
    again = second.step()
    assert all_cached(again)
    assert again.finished.cache.source == "disk"
    assert same_logits(again, last)
    second.messages[-1] = {"role": "user", "content": numbers(4, 70)}
    assert second.step().counts[1] >= last.counts[1]
    second.engine.close()


def test_twelve_turns_each_in_a_new_process_equal_their_replay(tiny_model: TinyModel, tmp_path: Path) -> None:
    """Elsewhere: restored state, temperature 0, other text."""
    talk = start(tiny_model(HYBRID), tmp_path)
    for turn in range(2, 14):
        result = talk.say(numbers(turn, 20))
        assert same_logits(result, talk.replay(result.reply))
        talk.engine.close()
        talk = Bench(make_engine(tiny_model(HYBRID), tmp_path), talk.messages, talk.answers)
    talk.engine.close()


def test_a_rollback_that_answers_true_and_does_nothing_is_not_believed(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = start(tiny_model("llama-dense"), tmp_path)
    talk.say(numbers(2, 300))
    talk.messages[-2:] = [{"role": "user", "content": numbers(3, 50)}]
    monkeypatch.setattr(talk.engine.context, "truncate", lambda _position, _sequence=0: True)
    result = talk.step()
    assert talk.engine.lane.position == result.finished.usage.context_tokens
    monkeypatch.undo()
    assert same_logits(result, talk.replay(result.reply))
    with pytest.raises(NativeError, match="went wrong"):
        talk.engine.lane.assume(talk.engine.lane.edges[:1])


def test_only_a_date_at_the_end_differs(talk: Bench) -> None:
    """Elsewhere: a trailing date had everything read again. The second visit pays, the third does not."""
    body = numbers(2, 700)
    cached = []
    for date in ("21 22 23", "21 22 24", "21 22 25"):
        talk.messages[1:] = [{"role": "user", "content": f"{body} {date}"}]
        cached.append(talk.step().counts[1])
    assert cached[2] >= 512  # the last cut of the grid before the date


def test_a_deeper_entry_that_diverges_does_not_hide_a_shorter_usable_one(talk: Bench) -> None:
    talk.say(numbers(2, 30))
    short = list(talk.messages)
    at = talk.say(numbers(3, 40)).counts[0]
    talk.say(numbers(4, 900))
    talk.messages = [*short, {"role": "user", "content": numbers(5, 40)}]
    result = talk.step()
    assert at > result.counts[1] >= at - 50


def test_bytes_per_turn_follow_the_new_tokens(talk: Bench) -> None:
    """Elsewhere: 889 MB exported and hashed again for a turn of 160 tokens."""
    talk.say(numbers(2, 1200))
    written = [
        sum(
            event.bytes
            for event in talk.say(numbers(turn, 20)).events
            if isinstance(event, CheckpointRecorded)
        )
        for turn in range(3, 9)
    ]
    assert max(written) < 1.2 * min(written)


def test_another_name_and_a_later_day_find_the_same_checkpoints(
    tiny_model: TinyModel, tmp_path: Path
) -> None:
    """Elsewhere: a timestamp in the key, and no hit after a restart, ever. The product's own loading is tried."""
    first_name, second_name = tmp_path / "one.gguf", tmp_path / "two.gguf"
    shutil.copy(tiny_model(HYBRID), first_name)
    first = load(first_name, tmp_path)
    first.engine.close()
    first_name.rename(second_name)
    second = load(second_name, tmp_path)
    assert second.reply.identity == first.reply.identity
    second.engine.close()
