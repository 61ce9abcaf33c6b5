"""The gate's phases on real models of every kind of memory, by token ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skippy_chat.gate.phases.faults import FAULTS, do_fault
from skippy_chat.gate.values import Sheet
from tests.gate.conftest import Gate, WideModel, failures

pytestmark = [pytest.mark.native, pytest.mark.model]

HYBRID = "falcon-h1-dense"
KINDS = [HYBRID, "llama-dense", "mamba-dense", "gemma3-dense", "lfm2-dense"]


@pytest.mark.parametrize("name", KINDS)
def test_tails_restarts_and_replays(name: str, wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(
        wide_model(name), "changed_tail", "exact_replay", "restart", "replay_equals_warm", "native_log"
    )
    assert failures(report) == []
    assert report.passed
    assert [phase.name for phase in report.phases][-1] == "native_log"
    changed = report.phases[0]
    assert changed.summary == "303 of 428 cached"  # the system message with its delimiters, then the tail's


@pytest.mark.parametrize("name", [HYBRID, "llama-dense", "gemma3-dense"])
def test_edits(name: str, wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(wide_model(name), "edits")
    assert failures(report) == []
    (edits,) = report.phases
    asked = {check.what for check in edits.checks}
    for word in ("regenerate", "middle edit", "A, B, A", "deleted turn", "edited tool result"):
        assert any(word in what for what in asked), word
    for place in ("at a message", "inside a message"):
        assert {f"tail of {size} {place}" for size in ("1", "10", "100", "1,000")} <= {
            what.partition(":")[0] for what in asked
        }
    assert edits.count("not_applicable") == 0


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        *((fault, HYBRID) for fault in FAULTS),
        ("truncated segment", "mamba-dense"),
        ("full disk", "llama-dense"),
    ],
)
def test_faults(fault: str, name: str, wide_model: WideModel, gate: Gate) -> None:
    ground = gate.ground(wide_model(name))
    sheet = Sheet()
    try:
        do_fault(ground, sheet, fault)
    finally:
        ground.close()
    assert [check for check in sheet.checks if check.state == "failed"] == []
    assert sum(check.state == "passed" for check in sheet.checks) >= 3
    assert not any(check.state == "not_applicable" for check in sheet.checks)
    assert [turn.fault() for turn in ground.turns if turn.fault()] == []


def test_budget(wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(wide_model(HYBRID), "budget")
    assert failures(report) == []


def test_overhead_reports_its_pairs(wide_model: WideModel, gate: Gate) -> None:
    """What is measured is this machine's matter; that both ways were measured is ours."""
    report = gate.run(wide_model("llama-dense"), "overhead")
    (overhead,) = report.phases
    pairs = json.loads((gate.root / "evidence" / "overhead-pairs.json").read_text())
    assert len(pairs) == 10
    assert all(pair[way]["prefill"] > 0 for pair in pairs for way in ("on", "off"))
    evidence = (gate.root / "evidence" / "overhead" / "turns.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in evidence]
    assert len(steps) == 22
    assert [step["finished"]["usage"]["cached_tokens"] for step in steps] == [0] * 22
    assert not any(check.what.startswith("counts") and check.state == "failed" for check in overhead.checks)
    assert "pairs" in next(check.found for check in overhead.checks if check.what.startswith("prefill"))


def test_a_small_context_gets_what_fits_and_says_so(gate: Gate, tiny_model: WideModel) -> None:
    report = gate.run(tiny_model(HYBRID), "changed_tail", "edits", prefix=4000)
    assert failures(report) == []
    assert any("The context holds 256 tokens" in note for note in report.notes)
    left_out = [check for check in report.phases[1].checks if check.state == "not_applicable"]
    assert any(check.what.startswith("tail of 1,000") for check in left_out)


def test_the_evidence_has_all_that_a_repetition_needs(gate: Gate, wide_model: WideModel) -> None:
    report = gate.run(wide_model("llama-dense"), "changed_tail")
    folder = Path(report.evidence)
    assert json.loads((folder / "report.json").read_text())["passed"] is True
    lines = (folder / "changed_tail" / "turns.jsonl").read_text().splitlines()
    alpha, beta = map(json.loads, lines)
    assert (alpha["label"], beta["label"]) == ("alpha", "beta")
    assert beta["body"]["messages"][0] == alpha["body"]["messages"][0]
    assert beta["finished"]["usage"]["cached_tokens"] == beta["deepest_shared_cut"] == 303
    assert len(beta["reply"]["logits_digest"]) == 64
    assert "llama_context" in (folder / "changed_tail" / "native.log").read_text()
    checks = json.loads((folder / "changed_tail" / "checks.json").read_text())["checks"]
    assert all(check["passed"] for check in checks)
