"""The sets that the default model is judged by: large enough, and every case can be solved as written."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import product
from pathlib import Path

import pytest

from skippy_chat.agent.tools.built_in import DEFAULT_NAMES, NAMES
from training.cases import ANY, CELLS, SETS, Case, CaseError, load_cases, load_workspaces
from training.checking import MadeCall, Outcome, Verdict, judge
from training.room import Room, room

NOW = datetime(2026, 3, 5, 14, 7, tzinfo=timezone.utc)
WITH_CALLS = ("one_step", "two_steps", "follow_up")


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_has_at_least_a_hundred_prompts(cell: str) -> None:
    assert len(load_cases("test", cell)) >= 100
    assert len(load_cases("dev", cell)) >= 20


def test_one_step_has_every_tool_evenly() -> None:
    counts = dict.fromkeys(NAMES, 0)
    for case in load_cases("test", "one_step"):
        counts[case.calls[0].tool] += 1
    assert min(counts.values()) >= 10
    assert max(counts.values()) <= 14


def test_no_prompt_is_there_twice_within_a_set_or_in_both() -> None:
    prompts = [case.turns for which, cell in product(SETS, CELLS) for case in load_cases(which, cell)]
    assert len(prompts) == len(set(prompts))


@pytest.mark.parametrize("cell", WITH_CALLS)
@pytest.mark.parametrize("which", SETS)
def test_the_right_calls_solve_each_case(which: str, cell: str) -> None:
    spaces = load_workspaces()
    for case in load_cases(which, cell):
        with room(spaces[case.workspace], NOW) as place:
            outcome = _solved(case, place)
            verdict = judge(case, outcome, place.folder)
        assert verdict.valid, case.name
        assert verdict.arguments, case.name
        assert verdict.end, f"{case.name}: {outcome}"


@pytest.mark.parametrize("cell", WITH_CALLS)
def test_no_case_is_solved_by_doing_nothing(cell: str) -> None:
    spaces = load_workspaces()
    for case in load_cases("test", cell):
        with room(spaces[case.workspace], NOW) as place:
            verdict = judge(case, Outcome((), 0, case.turns[-1]), place.folder)
        assert verdict == Verdict(valid=False, tool=False, arguments=False, end=False), case.name


@pytest.mark.parametrize("cell", WITH_CALLS)
def test_every_alternative_runs(cell: str) -> None:
    spaces = load_workspaces()
    for case in load_cases("test", cell):
        last = case.calls[-1]
        for chosen in range(1, len(last.alternatives)):
            with room(spaces[case.workspace], NOW) as place:
                outcome = _solved(case, place, chosen)
                verdict = judge(case, outcome, place.folder)
            assert verdict.arguments, case.name
            assert verdict.end, f"{case.name}: {outcome}"


def test_tools_are_the_products() -> None:
    for which, cell in product(SETS, CELLS):
        for case in load_cases(which, cell):
            assert set(case.tools) <= set(NAMES)
            if cell in WITH_CALLS:
                assert set(DEFAULT_NAMES) <= set(case.tools)
                assert all(call.tool in case.tools for call in case.calls)


def test_a_line_that_means_nothing_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    (folder / "one_step.cases").write_text("@ kitchen\n> hello\n? read_file {}\n")
    with pytest.raises(CaseError, match="one_step:3"):
        load_cases("test", "one_step", tmp_path)


def _solved(case: Case, place: Room, chosen: int = 0) -> Outcome:
    """Make the right calls; the answer is then all that they gave, which is what a good answer is made from."""
    made: list[MadeCall] = []
    for position, expected in enumerate(case.calls):
        last = position == len(case.calls) - 1
        wanted = dict(expected.alternatives[chosen if last else 0])
        for key, value in wanted.items():
            if value == ANY:
                wanted[key] = made[-1].result
        if expected.tool == "fetch_url":  # there is no network here; only the call is judged
            made.append(MadeCall(expected.tool, wanted, "error", "no network"))
            continue
        result = place.run(expected.tool, wanted)
        assert result.status == "ok", f"{case.name}: {expected.tool} {wanted}: {result.text}"
        made.append(MadeCall(expected.tool, wanted, result.status, result.text))
    return Outcome(tuple(made), 0, "\n".join(call.result for call in made))
