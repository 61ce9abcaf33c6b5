"""Two requests at the same moment on the default model, by ids on every kind of memory; each promise broken once."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.engine.protocol import ReplayRequest, StepReply, StepRequest
from skippy_chat.events import Event, PrefillProgress
from tests.gate.conftest import Gate, WideModel, failures
from tests.gate.doctored import Lies, claiming_all, counted, replying, starting
from tests.gate.test_mutations import other_digest

pytestmark = [pytest.mark.native, pytest.mark.model]

KINDS = ["falcon-h1-dense", "llama-dense", "mamba-dense", "gemma3-dense", "lfm2-dense"]


@pytest.mark.timeout(240)
def test_the_default_model_calls_and_names(default_model: Path, gate: Gate) -> None:
    report = gate.run(default_model, "overlap", "replay_equals_warm", prefix=400, by_ids=False)
    assert report.passed
    overlap, replays = report.phases
    of_the_model = [check for check in overlap.checks if check.about == "model"]
    assert [check.what for check in of_the_model] == [
        "round 1, title request: a title",
        "round 2, title request: a title",
    ]
    asked = {check.what for check in overlap.checks}
    for number in (1, 2):
        assert f"round {number}, tool request: calls" in asked
        assert f"round {number}, tool request, cache probe: cached and read" in asked
    assert overlap.count("not_applicable") == 0
    assert replays.summary == "2 turns, 2 replays"
    turns = (gate.root / "evidence" / "overlap" / "turns.jsonl").read_text().splitlines()
    forced = [each for each in map(json.loads, turns) if each["body"]["tool_choice"] == "required"]
    assert [each["finished"]["finish_reason"] for each in forced] == ["tool_calls"] * 4


@pytest.mark.parametrize("name", KINDS)
def test_by_ids_it_counts_the_same(name: str, wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(wide_model(name), "overlap", "replay_equals_warm")
    assert failures(report) == []
    overlap = report.phases[0]
    assert sum("cached + new" in check.what for check in overlap.checks) == 4
    assert sum("cache probe: cached and read" in check.what for check in overlap.checks) == 4
    assert sum("from" in check.what for check in overlap.checks) == 1


@pytest.mark.parametrize(
    ("lies", "word"),
    [
        (Lies(ask=lambda request: replace(request, cache=False)), "A side request was refused"),
        (
            Lies(ask=lambda request: replace(request, cache=False), aside=False),
            "cache probe: cached and read",
        ),
        (Lies(ask=lambda request: replace(request, record=False), aside=False), "cached of"),
        (counted(cached_tokens=lambda usage: usage.cached_tokens + 1), "cached + new"),
        (claiming_all(), "cached of"),
        (replying(other_digest, restored=True), "cache probe: logits"),
    ],
    ids=["refused", "no cache", "nothing kept", "a token too many", "all claimed as cached", "other logits"],
)
def test_an_overlap_that_hurts_has_failed(lies: Lies, word: str, wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(wide_model("falcon-h1-dense"), "overlap", start=starting(lies))
    assert not report.passed
    assert any(word in failure for failure in failures(report)), failures(report)


@pytest.mark.parametrize("name", ["falcon-h1-dense", "llama-dense"])
def test_one_aside_that_has_begun_gives_way_and_what_it_read_is_kept(
    name: str, wide_model: WideModel, gate: Gate
) -> None:
    reading = threading.Event()

    def late(request: StepRequest) -> StepRequest:
        if request.turn.endswith("tool request"):
            assert reading.wait(60)
        return request

    def tell(request: StepRequest | ReplayRequest, item: Event | StepReply) -> Event | StepReply:
        if request.turn.endswith("title request") and isinstance(item, PrefillProgress):
            reading.set()
        return item

    report = gate.run(wide_model(name), "overlap", prefix=1600, start=starting(Lies(ask=late, tell=tell)))
    assert failures(report) == []
    assert "gave way" in report.phases[0].summary
    checks = {
        check.what.partition(":")[0]: check for check in report.phases[0].checks if "cached of" in check.what
    }
    assert checks["round 1, tool request"].found != "0"
