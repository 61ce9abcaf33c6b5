"""A growing conversation over several processes: the history is never read twice, and every turn can be replayed."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model]

SYSTEM = "You are a helpful assistant. " + "Answer in one short sentence. " * 20


def step(result: dict[str, Any]) -> dict[str, Any]:
    (only,) = result["steps"]
    assert only["cached_tokens"] + only["prefilled_tokens"] == only["prompt_tokens"]
    assert isinstance(only, dict)
    return only


def test_the_second_process_caches_all_that_the_first_one_fed(program: Program) -> None:
    first = program.run("--session", "S", "--system", SYSTEM, "What is the capital of France?")
    assert step(first)["cached_tokens"] == 0
    assert step(first)["cache"]["miss_reason"]["kind"] == "nothing_stored"
    second = program.run("--session", "S", "And of Italy?")
    assert step(second)["cached_tokens"] == step(first)["context_tokens"]
    assert step(second)["cache"]["source"] == "disk"
    third = program.run("--session", "S", "--threads", "2", "And of Spain?")
    assert step(third)["cached_tokens"] == step(second)["context_tokens"]
    for message in (first["message"], second["message"], third["message"]):
        report = program.run("--session", "S", "--replay", "--message", message)["replay"]
        assert report["same_ids"] is True
        assert report["compared_tokens"] > 0


def test_a_sampled_answer_replays_with_the_seed_it_was_drawn_with(program: Program) -> None:
    program.options = ("--temperature", "1.5", "--threads", "1", "--max-tokens", "16")
    program.run("--session", "S", "Tell me a story.")
    assert program.run("--session", "S", "--replay")["replay"]["same_ids"] is True


def test_deleting_the_cache_loses_only_time(program: Program) -> None:
    first = program.run("--session", "S", "--system", SYSTEM, "What is the capital of France?")
    shutil.rmtree(program.cache)
    second = program.run("--session", "S", "And of Italy?")
    assert step(second)["cached_tokens"] == 0
    assert second["content"]
    assert program.run("--session", "S", "--replay")["replay"]["same_ids"] is True
    third = program.run("--session", "S", "And of Spain?")
    assert step(third)["cached_tokens"] == step(second)["context_tokens"]
    shown = program.call("sessions", "show", "S").stdout
    assert first["content"] in shown


def test_a_read_only_cache_costs_no_turn(program: Program) -> None:
    program.cache.mkdir()
    blocker = program.cache / "checkpoints"
    blocker.write_text("a file where a folder should be")
    result = program.run("--session", "S", "What is the capital of France?")
    assert result["content"]
    assert step(result)["cache"]["miss_reason"]["kind"] == "off"


def test_without_the_cache_nothing_is_reused_or_stored(program: Program) -> None:
    for _ in range(2):
        result = program.run("--session", "S", "--no-cache", "What is the capital of France?")
        assert step(result)["cached_tokens"] == 0
        assert step(result)["cache"]["miss_reason"]["kind"] == "off"
    assert not list(program.cache.rglob("*.seg"))
