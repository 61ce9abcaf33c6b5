"""The tool loop on the default model, by ids on every kind of memory, and with each of its promises broken once."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.engine.protocol import AnsweredCall, StepReply
from skippy_chat.gate.calls import LOOK_UP, check_calls
from skippy_chat.gate.run import engine_starter
from skippy_chat.gate.stage import Turn, Worker
from skippy_chat.gate.tree import Reach
from skippy_chat.gate.values import Sheet
from tests.gate.conftest import Gate, WideModel, failures
from tests.gate.doctored import Lies, counted, replying, starting
from tests.gate.test_templates import JOINS_SYSTEM, PLAIN, REFUSES_SYSTEM

pytestmark = [pytest.mark.native, pytest.mark.model]

KINDS = ["falcon-h1-dense", "llama-dense", "mamba-dense", "gemma3-dense"]


@pytest.mark.timeout(240)
def test_the_default_model_goes_through_it(default_model: Path, gate: Gate) -> None:
    report = gate.run(default_model, "tool_loop", "replay_equals_warm", prefix=200, by_ids=False)
    assert report.passed
    assert failures(report, of_the_cache=True) == []
    loop, replays = report.phases
    asked = {check.what for check in loop.checks}
    for number in (1, 2):
        assert {f"round {number}, {which} call: calls" for which in ("first", "second")} <= asked
        recalled = [check for check in loop.checks if f"round {number}, recall: the" in check.what]
        assert [check.about for check in recalled] == ["model"] * 3
    assert any("another process" in what for what in asked)
    assert loop.count("not_applicable") == 0
    assert replays.summary == "2 turns, 2 replays"
    turns = (gate.root / "evidence" / "tool_loop" / "turns.jsonl").read_text().splitlines()
    steps = [json.loads(each) for each in turns]
    forced = [each for each in steps if each["body"].get("tool_choice") == "required"]
    assert [each["finished"]["finish_reason"] for each in forced] == ["tool_calls"] * 4
    resumed = next(each for each in steps if each["label"] == "round 2, answer to the first result")
    assert resumed["finished"]["cache"]["source"] == "disk"


@pytest.mark.parametrize("name", KINDS)
def test_by_ids_it_counts_the_same(name: str, wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(wide_model(name), "tool_loop", "replay_equals_warm")
    assert failures(report) == []
    loop = report.phases[0]
    assert sum("cached of" in check.what for check in loop.checks) == 16


@pytest.mark.parametrize("template", [PLAIN, REFUSES_SYSTEM, JOINS_SYSTEM], ids=["plain", "refuses", "joins"])
def test_a_template_that_shows_no_tools_goes_through_it_in_words(
    template: str, templated: WideModel, gate: Gate
) -> None:
    report = gate.run(templated(template), "tool_loop", prefix=100, by_ids=None)
    assert failures(report, of_the_cache=True) == []
    loop = report.phases[0]
    (skipped,) = [check for check in loop.checks if check.state == "not_applicable"]
    assert (skipped.what, skipped.found) == ("tools", "the chat template shows no tools")
    assert sum("cached of" in check.what for check in loop.checks) == 16
    assert "calls" not in loop.summary


def test_a_small_context_gets_shorter_messages(tiny_model: WideModel, gate: Gate) -> None:
    report = gate.run(tiny_model("llama-dense"), "tool_loop")
    assert failures(report) == []
    assert report.phases[0].count("not_applicable") == 0


@pytest.mark.parametrize(
    ("lies", "word"),
    [
        (Lies(ask=lambda request: replace(request, cache=False)), "all that the step before held"),
        (counted(cached_tokens=lambda usage: usage.cached_tokens + 1), "counts"),
    ],
    ids=["no cache", "a token too many"],
)
def test_a_loop_that_reads_again_has_failed(lies: Lies, word: str, wide_model: WideModel, gate: Gate) -> None:
    report = gate.run(wide_model("falcon-h1-dense"), "tool_loop", start=starting(lies))
    assert not report.passed
    assert any(word in failure for failure in failures(report)), failures(report)


def test_a_store_that_forgets_in_the_middle(wide_model: WideModel, gate: Gate) -> None:
    start = engine_starter()

    def begin(log: Path, command: Sequence[str] | None = None) -> Worker:
        for path in (gate.root / "work" / "tool_loop").rglob("*"):
            if path.is_file():
                path.unlink()
        return start(log, command)

    report = gate.run(wide_model("falcon-h1-dense"), "tool_loop", start=begin)
    assert any("round 2, answer to the first result" in failure for failure in failures(report))


@pytest.mark.timeout(240)
def test_forced_calls_that_do_not_come_fail_the_phase(default_model: Path, gate: Gate) -> None:
    lies = replying(lambda reply: replace(reply, calls=(), text="I would rather not."))
    report = gate.run(default_model, "tool_loop", prefix=100, by_ids=False, start=starting(lies))
    assert not report.passed
    assert any("first call: calls" in failure for failure in failures(report))


GOOD = AnsweredCall("c1", "look_up", '{"entry": "harbour"}')


def judged(
    *calls: AnsweredCall,
    forced: bool = True,
    change: Callable[[StepReply], StepReply] = lambda reply: reply,
    known: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the state of the check of these calls, and whom it is about."""
    reply = StepReply("", "tool_calls" if calls else "stop", array("i", [1, 2]), 1, [(2, False)], calls=calls)
    turn = Turn("step", None, change(reply), (), Reach())  # type: ignore[arg-type]
    sheet = Sheet()
    check_calls(sheet, "step", turn, [LOOK_UP], forced=forced, known=known)
    (check,) = sheet.checks
    return check.state, check.about


def test_a_good_call_passes() -> None:
    assert judged(GOOD) == ("passed", "cache")
    assert judged(GOOD, forced=False) == ("passed", "model")
    assert judged(forced=False) == ("passed", "model")


@pytest.mark.parametrize(
    "calls",
    [
        (),
        (replace(GOOD, id=""),),
        (replace(GOOD, name="lookup"),),
        (replace(GOOD, arguments='{"entry": "moon"}'),),
        (replace(GOOD, arguments='{"entry": "harbour"'),),
        (replace(GOOD, arguments="[]"),),
        (replace(GOOD, arguments='{"entry": "harbour", "page": 3}'),),
        (GOOD, GOOD),
    ],
    ids=["none", "no id", "name", "value", "half", "list", "surplus", "one id twice"],
)
def test_a_forced_call_that_is_wrong_fails(calls: tuple[AnsweredCall, ...]) -> None:
    assert judged(*calls) == ("failed", "cache")


def test_an_unforced_call_that_is_wrong_is_the_models() -> None:
    assert judged(replace(GOOD, name="lookup"), forced=False) == ("failed", "model")


def test_an_id_of_an_earlier_call_and_a_malformed_answer_fail() -> None:
    assert judged(GOOD, known=["c1"]) == ("failed", "cache")
    assert judged(GOOD, change=lambda reply: replace(reply, malformed="half a call")) == ("failed", "cache")
    assert judged(GOOD, change=lambda reply: replace(reply, finish_reason="stop")) == ("failed", "cache")


def test_a_model_that_thinks_too_long_for_a_call_is_too_weak() -> None:
    thinking = judged(change=lambda reply: replace(reply, finish_reason="length", reasoning="Hm."))
    assert thinking == ("failed", "model")
    assert judged(change=lambda reply: replace(reply, finish_reason="length")) == ("failed", "cache")
