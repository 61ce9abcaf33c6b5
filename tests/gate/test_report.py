"""When a run has passed, and how it is shown on terminals and in pipes."""

from __future__ import annotations

import json

import pytest

from skippy_chat.errors import UsageError
from skippy_chat.gate.phases.registry import PHASES, chosen
from skippy_chat.gate.table import phase_line, report_lines
from skippy_chat.gate.values import Check, PhaseResult, Report, Sheet, State

WORDS = "what was found is told in a sentence that does not fit a narrow terminal"


def check(state: State, *, about: str = "cache") -> Check:
    return Check("cached of 1,000", "987", "3", state, "model" if about == "model" else "cache")


def report(*checks: Check, strict: bool = False) -> Report:
    phases = (
        PhaseResult("changed_tail", (check("passed"),), 12.34, "987 of 1,000 cached"),
        PhaseResult("edits", checks, 0.5, WORDS),
    )
    model = {"name": "Small", "architecture": "falcon-h1", "kind": "hybrid", "proof": "proven by range"}
    machine = {"threads": 2, "machine": "x86_64"}
    material = {"mode": "text", "prefix_tokens": 4000}
    return Report(model, machine, material, phases, strict, "/evidence", ("A note.",))


@pytest.mark.parametrize(
    ("checks", "passed", "strictly"),
    [
        ([check("passed")], True, True),
        ([check("passed"), check("failed")], False, False),
        ([check("passed"), check("not_applicable")], True, True),
        ([check("not_applicable")], False, False),
        ([], False, False),
        ([check("passed"), check("failed", about="model")], True, False),
    ],
)
def test_when_a_run_has_passed(checks: list[Check], passed: bool, strictly: bool) -> None:
    assert report(*checks).passed is passed
    assert report(*checks, strict=True).passed is strictly


def test_a_run_without_phases_has_not_passed() -> None:
    assert not Report({}, {}, {}, (), False, "").passed


def test_json_has_every_check() -> None:
    value = json.loads(json.dumps(report(check("failed"), check("not_applicable")).to_json()))
    assert value["schema"] == 1
    assert (value["passed"], value["phases"][0]["passed"], value["phases"][1]["passed"]) == (
        False,
        True,
        False,
    )
    failed, skipped = value["phases"][1]["checks"]
    assert (failed["what"], failed["expected"], failed["found"]) == ("cached of 1,000", "987", "3")
    assert (failed["passed"], skipped["passed"]) == (False, None)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = list(report_lines(report(check("failed"), check("not_applicable")), width=width))
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for part in ("changed_tail", "987 of 1,000 cached", WORDS, "expected: 987", "found: 3", "FAILED: edits"):
        assert part in text


def test_a_pipe_gets_plain_ascii_and_whole_lines() -> None:
    lines = list(report_lines(report(check("failed"), check("failed", about="model")), width=None))
    assert "\n".join(lines).isascii()
    assert any(line.endswith(WORDS) for line in lines)
    assert sum("(the model's)" in line for line in lines) == 1


def test_a_terminal_gets_signs() -> None:
    text = "\n".join(report_lines(report(check("passed")), width=100))
    assert "✓ passed" in text
    assert "All 2 phases passed" in text


def test_a_phase_as_a_sentence() -> None:
    assert (
        phase_line(report().phases[0], strict=False) == "changed_tail passed in 12.3 s: 987 of 1,000 cached"
    )


def test_values_are_compared_and_told() -> None:
    sheet = Sheet()
    sheet.equal("tokens", 1234, 1234)
    sheet.equal("from", "disk", "live")
    sheet.skip("tail", "too long")
    assert [(each.expected, each.found, each.state) for each in sheet.checks] == [
        ("1,234", "1,234", "passed"),
        ("disk", "live", "failed"),
        ("", "too long", "not_applicable"),
    ]


def test_phases_run_in_their_own_order_and_all_by_default() -> None:
    assert [phase.name for phase in chosen(["edits", "changed_tail"])] == ["changed_tail", "edits"]
    assert chosen(None) == PHASES
    assert PHASES[-1].name == "native_log"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["edit"], "Did you mean edits?"),
        (["nonsense"], "Phases are: tool_loop"),
        ([], "No phase was named"),
    ],
)
def test_a_phase_that_is_none_is_said(names: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        chosen(names)
    assert words in str(refused.value)
