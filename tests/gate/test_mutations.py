"""A gate that cannot fail is worthless: each thing it promises is broken once, and it must say so."""

from __future__ import annotations

import os
import signal
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.engine.protocol import StepReply
from skippy_chat.gate.phases.faults import do_fault
from skippy_chat.gate.phases.overhead import judge
from skippy_chat.gate.run import engine_starter
from skippy_chat.gate.stage import Worker
from skippy_chat.gate.values import Sheet
from tests.gate.conftest import Gate, WideModel, failures
from tests.gate.doctored import Doctored, Lies, claiming_all, counted, replying, silent, starting

HYBRID, DENSE, RECURRENT = "falcon-h1-dense", "llama-dense", "mamba-dense"
pytestmark = [pytest.mark.native, pytest.mark.model]


def other_digest(reply: StepReply) -> StepReply:
    return replace(reply, logits_digest="0" * 64)


def other_token(reply: StepReply) -> StepReply:
    ids = array("i", reply.ids)
    ids[-1] ^= 1
    return replace(reply, ids=ids)


@pytest.mark.parametrize(
    ("lies", "phases", "word"),
    [
        (counted(cached_tokens=lambda usage: usage.cached_tokens + 1), ["changed_tail"], "counts"),
        (
            counted(
                cached_tokens=lambda usage: max(0, usage.cached_tokens - 1),
                prefilled_tokens=lambda usage: usage.prompt_tokens - max(0, usage.cached_tokens - 1),
            ),
            ["changed_tail"],
            "counts",
        ),
        (counted(prompt_tokens=lambda usage: usage.prompt_tokens + 1), ["exact_replay"], "counts"),
        (claiming_all(), ["changed_tail"], "beta behind alpha's prefix"),
        (
            Lies(load=lambda request: replace(request, cache=False)),
            ["changed_tail"],
            "beta behind alpha's prefix",
        ),
        (Lies(ask=lambda request: replace(request, cache=False)), ["exact_replay"], "cached and read"),
        (replying(other_digest, restored=True), ["exact_replay"], "logits"),
        (replying(other_token, restored=True), ["exact_replay"], "ids"),
        (replying(other_digest), ["changed_tail", "replay_equals_warm"], "against its replay: logits"),
        (replying(other_token), ["changed_tail", "replay_equals_warm"], "ids of its replay"),
        (replying(lambda reply: replace(reply, logits_digest="")), ["exact_replay"], "logits"),
        (silent(), ["edits"], "a miss without a reason"),
        (Lies(load=lambda request: replace(request, disk_budget=1 << 30)), ["budget"], "allocated bytes"),
    ],
    ids=[
        "one token too many cached",
        "one token too few cached",
        "another prompt",
        "all claimed as cached",
        "no store",
        "never looked up",
        "other logits when resumed",
        "another word when resumed",
        "logits unlike the replay",
        "words unlike the replay",
        "no digest",
        "no reasons",
        "the budget is ignored",
    ],
)
def test_a_lie_is_found_out(
    lies: Lies, phases: list[str], word: str, gate: Gate, wide_model: WideModel
) -> None:
    # Where a state is all there is, some first visits do miss.
    model = RECURRENT if phases == ["edits"] else HYBRID
    report = gate.run(wide_model(model), *phases, start=starting(lies))
    assert not report.passed
    assert any(word in failure for failure in failures(report)), failures(report)


def test_a_store_that_forgets_when_the_process_ends(gate: Gate, wide_model: WideModel) -> None:
    start = engine_starter()

    def begin(log: Path, command: Sequence[str] | None = None) -> Worker:
        for path in (gate.root / "work" / "tails").rglob("*"):
            if path.is_file():
                path.unlink()
        return start(log, command)

    report = gate.run(wide_model(HYBRID), "changed_tail", "restart", start=begin)
    assert [phase.passed(strict=False) for phase in report.phases] == [True, False]
    assert any("from disk" in failure or "cached" in failure for failure in failures(report))


def test_a_second_visit_that_pays_again(gate: Gate, wide_model: WideModel) -> None:
    """An engine that never keeps a state where prompts part, and so falls back to the system prompt each time."""
    lies = Lies(ask=lambda request: replace(request, cache=len(request.messages) < 4))
    report = gate.run(wide_model(HYBRID), "edits", start=starting(lies))
    failed = failures(report)
    assert any("second visit" in failure for failure in failed)
    assert any("regenerate" in failure for failure in failed)


def test_native_lines_that_tell_of_a_broken_state(gate: Gate, wide_model: WideModel) -> None:
    start = engine_starter()

    def begin(log: Path, command: Sequence[str] | None = None) -> Worker:
        worker = start(log, command)
        log.with_name(f"other-{log.name}").write_text(
            "decode: failed to find a memory slot for batch of size 9\n"
        )
        return worker

    report = gate.run(wide_model(DENSE), "native_log", start=begin)
    assert any("failed to find a memory slot" in failure for failure in failures(report))


def test_a_log_that_nobody_kept(gate: Gate, wide_model: WideModel) -> None:
    start = engine_starter()
    elsewhere = gate.root / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    report = gate.run(
        wide_model(DENSE), "native_log", start=lambda log, command=None: start(elsewhere / log.name, command)
    )
    assert any("native lines were kept" in failure for failure in failures(report))


@pytest.mark.parametrize(
    ("fault", "lies", "word"),
    [
        ("truncated segment", silent(), "a reason"),
        ("full disk", silent(), "told"),
        ("full budget", Lies(load=lambda request: replace(request, disk_budget=1 << 30)), "told"),
        ("other weights", replying(other_digest, restored=True), "logits"),
        ("other KV type", Lies(load=lambda request: replace(request, kv_type="f16")), "cached of f32"),
        ("overwritten index", replying(other_token), "ids of its replay"),
        (
            "second process",
            Lies(ask=lambda request: replace(request, cache=False)),
            "what the first recorded",
        ),
    ],
)
def test_a_fault_that_is_not_withstood(
    fault: str, lies: Lies, word: str, gate: Gate, wide_model: WideModel
) -> None:
    ground = gate.ground(wide_model(HYBRID), start=starting(lies))
    sheet = Sheet()
    try:
        do_fault(ground, sheet, fault)
    finally:
        ground.close()
    failed = [f"{check.what}: {check.expected}" for check in sheet.checks if check.state == "failed"]
    assert any(word in each for each in failed), failed


def test_weights_that_are_not_looked_at(gate: Gate, wide_model: WideModel) -> None:
    """A worker that goes on with the weights it knew under that name would reuse their states."""
    original = wide_model(HYBRID)
    lies = Lies(load=lambda request: replace(request, model=str(original)))
    ground = gate.ground(original, start=starting(lies))
    sheet = Sheet()
    try:
        do_fault(ground, sheet, "other weights")
    finally:
        ground.close()
    assert any("cached of other weights" in check.what for check in sheet.checks if check.state == "failed")


def test_a_phase_whose_worker_dies_has_failed(gate: Gate, wide_model: WideModel) -> None:
    start = engine_starter()
    started: list[Worker] = []

    def begin(log: Path, command: Sequence[str] | None = None) -> Worker:
        worker = start(log, command)
        started.append(worker)
        return worker

    def ask_and_die(request: object) -> object:
        if len(started) > 1:
            os.kill(started[-1].pid, signal.SIGKILL)
        return request

    lies = Lies(ask=ask_and_die)  # type: ignore[arg-type]

    def lying(log: Path, command: Sequence[str] | None = None) -> Worker:
        return Doctored(begin(log, command), lies)

    report = gate.run(wide_model(DENSE), "changed_tail", "native_log", start=lying)
    assert [phase.passed(strict=False) for phase in report.phases] == [False, True]
    assert any("signal 9" in failure for failure in failures(report))


@pytest.mark.parametrize(
    ("ratios", "state"),
    [
        ([0.98] * 10, "passed"),
        ([0.96] * 10, "failed"),
        ([0.5] * 4 + [0.99] * 6, "passed"),
        ([0.9, 1.0], "not_applicable"),
    ],
)
def test_overhead_is_judged_by_the_median(ratios: list[float], state: str) -> None:
    sheet = Sheet()
    judge(sheet, "prefill", ratios)
    assert [check.state for check in sheet.checks] == [state]
