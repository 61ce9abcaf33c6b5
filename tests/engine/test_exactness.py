"""Invariants 1 and 2 on real weights of every kind of memory: equal logits to the bit, and honest counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.checkpoints.placement import MIN_TAIL, Cut
from skippy_chat.events import MissReason
from tests.engine.engines import Bench, Result, make_engine, numbers, same_logits

pytestmark = [pytest.mark.native, pytest.mark.model]

KINDS = [
    "llama-dense",
    "falcon-h1-dense",
    "granitehybrid-dense",
    "qwen3next-moe",
    "mamba-dense",
    "gemma3-dense",
    "lfm2-dense",
]
TinyModel = Callable[[str], Path]


def talk(bench: Bench) -> list[Result]:
    """Three turns over a system prompt, with an answer that crosses a grid cut."""
    bench.messages.append({"role": "system", "content": numbers(1, 300)})
    return [
        bench.say(numbers(2, 40)),
        bench.say(numbers(3, 20), max_tokens=270),
        bench.say(numbers(4, 330)),
    ]


@pytest.mark.parametrize(
    ("name", "threads"), [*((name, 1) for name in KINDS), ("llama-dense", 2), ("falcon-h1-dense", 2)]
)
def test_a_warm_conversation_equals_its_replay(
    name: str, threads: int, tiny_model: TinyModel, tmp_path: Path
) -> None:
    bench = Bench(make_engine(tiny_model(name), tmp_path, threads=threads))
    try:
        for turn in talk(bench):
            prompt, cached, prefilled = turn.counts
            assert cached + prefilled == prompt
            again = bench.replay(turn.reply)
            assert again.reply.ids == turn.reply.ids
            assert same_logits(turn, again)
            assert again.counts == (prompt, 0, prompt)
    finally:
        bench.engine.close()


@pytest.mark.parametrize("name", KINDS)
def test_a_new_process_resumes_exactly(name: str, tiny_model: TinyModel, tmp_path: Path) -> None:
    first = Bench(make_engine(tiny_model(name), tmp_path, threads=1))
    turns = talk(first)
    first.engine.close()

    # Another thread count on purpose: it must not move a bit.
    second = Bench(make_engine(tiny_model(name), tmp_path, threads=2), first.messages[:-1], first.answers)
    try:
        exact = second.step()
        assert exact.counts == (turns[-1].counts[0], turns[-1].counts[0], 0)
        assert exact.finished.cache.source == "disk"
        assert same_logits(exact, turns[-1])

        original = second.messages[-1]
        second.messages[-1] = {"role": "user", "content": "11 " + numbers(5, 200)}
        changed = second.step()
        assert changed.counts[1] >= turns[1].finished.usage.context_tokens
        assert same_logits(changed, second.replay(changed.reply))

        second.messages[-1] = original
        back = second.step()
        assert back.counts[1:] == (back.counts[0], 0)
        assert same_logits(back, turns[-1])
    finally:
        second.engine.close()


def test_the_default_model_resumes_exactly_with_one_thread_and_two(
    default_model: Path, tmp_path: Path
) -> None:
    """Real words through the model's own template: recorded with one thread, resumed and replayed with two."""
    first = Bench(make_engine(default_model, tmp_path, threads=1, by_ids=False))
    first.messages.append({"role": "system", "content": "Answer in one short sentence. " * 60})
    turns = [first.say("What is the capital of France?"), first.say("And of Italy?")]
    assert all(same_logits(turn, first.replay(turn.reply)) for turn in turns)
    first.engine.close()
    second = Bench(
        make_engine(default_model, tmp_path, threads=2, by_ids=False), first.messages[:-1], first.answers
    )
    try:
        exact = second.step()
        assert exact.counts == (turns[1].counts[0], turns[1].counts[0], 0)
        assert same_logits(exact, turns[1])
        second.messages[-1] = {"role": "user", "content": "Which river flows through it?"}
        changed = second.step()
        assert changed.counts[1] >= turns[0].finished.usage.context_tokens
        assert same_logits(changed, second.replay(changed.reply))
        assert all(same_logits(turn, second.replay(turn.reply)) for turn in turns)
    finally:
        second.engine.close()


@pytest.mark.parametrize("name", ["llama-dense", "falcon-h1-dense"])
def test_cold_and_warm_prefill_of_one_prompt_agree(name: str, tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model(name), tmp_path))
    try:
        bench.messages = [
            {"role": "system", "content": numbers(1, 300)},
            {"role": "user", "content": numbers(2, 700)},
        ]
        bench.step()
        bench.messages[-1] = {"role": "user", "content": numbers(2, 400) + " " + numbers(3, 90)}
        warm = bench.step()
        cold = bench.step(cache=False)
        assert warm.counts[1] >= 300
        assert cold.counts[1] == 0
        assert same_logits(warm, cold)
    finally:
        bench.engine.close()


@pytest.mark.parametrize(("name", "first"), [("falcon-h1-dense", 103 + 512), ("mamba-dense", 103)])
def test_an_edit_inside_a_message_pays_at_most_once(
    name: str, first: int, tiny_model: TinyModel, tmp_path: Path
) -> None:
    """Where rows weigh more than a state, there is one inside the message from its first reading on."""
    bench = Bench(make_engine(tiny_model(name), tmp_path))
    try:
        head = numbers(2, 600)
        bench.messages = [{"role": "system", "content": numbers(1, 100)}]
        cached = []
        for seed in (10, 11, 12):
            bench.messages = [*bench.messages[:1], {"role": "user", "content": f"{head} {numbers(seed, 50)}"}]
            cached.append(bench.step().counts[1])
        assert cached[0] == 0
        assert cached[1] == first
        assert cached[2] == 103 + 512
    finally:
        bench.engine.close()


def test_without_the_cache_nothing_is_looked_up_or_written(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    try:
        bench.messages = [{"role": "user", "content": numbers(2, 100)}]
        for _ in range(2):
            result = bench.step(cache=False)
            assert result.counts[1] == 0
            assert result.finished.cache.miss_reason == MissReason("off")
        assert bench.engine.store is not None
        assert bench.engine.store.stats().nodes == 0
    finally:
        bench.engine.close()


def test_every_boundary_has_its_state(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    try:
        talk(bench)
        store = bench.engine.store
        assert store is not None
        node, kinds, last = None, [], 0
        for planned in bench.engine.lane.edges:
            node = store.child(node, planned.edge)
            assert node is not None
            assert node.has_kv
            if node.has_state:
                kinds.append(planned.cut)
                assert planned.cut is not Cut.GRID or planned.stop - last >= MIN_TAIL
                last = planned.stop
        assert kinds.count(Cut.GENERATION_PROMPT) == 3
        assert kinds.count(Cut.END_OF_ANSWER) == 3
        assert kinds.count(Cut.GRID) <= 3  # one in each step, for an edit inside its long message
    finally:
        bench.engine.close()


def test_a_digest_stands_for_every_row_that_was_sampled_from(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    try:
        bench.messages.append({"role": "user", "content": numbers(2, 100)})
        first = bench.step(digest_logits=True)
        again = bench.step(digest_logits=True)
        assert first.counts != again.counts
        assert len(first.reply.logits_digest) == 64
        assert again.reply.logits_digest == first.reply.logits_digest
        assert bench.step(max_tokens=5, digest_logits=True).reply.logits_digest != first.reply.logits_digest
        assert bench.step().reply.logits_digest == ""
    finally:
        bench.engine.close()
