"""Every example runs, and reuses what it says it reuses; what the model says is nobody's business."""

from __future__ import annotations

import re

import pytest

from tests.examples.conftest import FOLDER, Run

pytestmark = [pytest.mark.native, pytest.mark.model]


def test_an_edited_tail_reads_the_tail(run_example: Run) -> None:
    asked, edited, again = run_example("edited_tail.py").counts
    assert asked.cached == 0
    assert edited.new < 40 < edited.cached
    assert (again.cached, again.new) == (edited.prompt, 0)


def test_a_resumed_session_reads_the_new_question(run_example: Run) -> None:
    printed = run_example("resume_session.py")
    first, second = printed.counts
    assert second.cached > first.prompt
    assert second.new < 40
    assert "resumed from disk, 5 messages" in printed.text


def test_a_branch_come_back_to_reads_nothing(run_example: Run) -> None:
    printed = run_example("branches.py")
    a, b, again = printed.counts
    assert 0 < b.new < 40
    assert (again.prompt, again.new) == (a.prompt, 0)
    questions = [line for line in printed.text.splitlines() if line.startswith("- ")]
    assert len(questions) == 3
    assert sum("cliffs" in line for line in questions) == 2


def test_structured_output_is_what_was_asked_for(run_example: Run) -> None:
    printed = run_example("structured_output.py")
    trip, ages, _ = printed.text.splitlines()
    assert re.fullmatch(r"[1-9] nights in (North Quay|Mill End|Saltby) with the (Arne|Solveig)", trip)
    assert 2 <= len(re.fullmatch(r"\[(\d+(?:, \d+)*)\]", ages)[1].split(", ")) <= 3  # type: ignore[index]
    assert printed.counts[0].cached > printed.counts[0].new


def test_a_pipe_goes_on_in_its_session(run_example: Run) -> None:
    first, second = run_example("pipe.sh").counts
    assert first.cached == 0
    assert second.cached >= first.prompt
    assert second.new < 40


def test_a_tool_loop_calls_and_reads_only_the_result(run_example: Run) -> None:
    printed = run_example("tool_loop.py")
    called, answered = printed.counts[:2]
    assert re.search(r"^  people_in\(\{.*\}\) ok: .", printed.text, re.MULTILINE)
    assert answered.cached >= called.prompt
    assert answered.new < 60


def test_a_title_beside_a_tool_call_costs_the_conversation_nothing(run_example: Run) -> None:
    printed = run_example("overlap.py")
    conversation, title, again = printed.counts
    assert conversation.cached > conversation.new
    assert title.new < 40 < title.cached
    assert again.new == 0
    calls, messages = map(int, re.findall(r"^calls: (\d+), messages: (\d+)$", printed.text, re.MULTILINE)[0])
    assert calls >= 1
    # System, question, answer, and the last question with the answer given again.
    assert messages >= 5


def test_every_example_is_told_of_and_tried() -> None:
    names = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".sh")}
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    tried = (FOLDER.parent / "tests" / "examples" / "test_examples.py").read_text(encoding="utf-8")
    for name in names:
        assert f"`{name}`" in told, name
        assert f'"{name}"' in tried, name
