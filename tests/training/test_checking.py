"""The judge: right by another spelling passes, wrong by a digit does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.cases import Case, Expected
from training.checking import MadeCall, Outcome, Verdict, arguments_fit, judge, says
from training.intervals import wilson

READ = Case("t/1", "one_step", ("?",), ("read_file",), calls=(Expected("read_file", ({"path": "a b.txt"},)),))
QUIET = Case("t/2", "no_tool_due", ("?",), ("read_file",))
UNFIT = Case("t/3", "no_tool_fits", ("?",), ("read_file",))


def call(tool: str, **arguments: object) -> MadeCall:
    return MadeCall(tool, arguments, "ok", "")


@pytest.mark.parametrize(
    ("tool", "wanted", "made", "fits"),
    [
        ("read_file", {"path": "notes"}, {"path": "./notes"}, True),
        ("list_directory", {"path": "notes"}, {"path": "notes/"}, True),
        ("read_file", {"path": "oats.rs"}, {"path": "oatmeal.rs"}, False),
        ("read_file", {"path": "a"}, {"path": "a", "first_line": 1}, False),
        ("calculator", {"expression": "7 * 3.5"}, {"expression": "3.5*7"}, True),
        ("calculator", {"expression": "7 * 3.5"}, {"expression": "7 * 3.6"}, False),
        ("calculator", {"expression": "7 * 3.5"}, {"expression": "seven"}, False),
        ("search_files", {"pattern": "#fff"}, {"pattern": r"\#fff"}, True),
        ("search_files", {"pattern": "TODO"}, {"pattern": r"\bTODO\b"}, True),
        ("search_files", {"pattern": "TODO"}, {"pattern": "todo"}, False),
        ("run_command", {"command": "ls -l"}, {"command": "ls  -l", "timeout": 5}, True),
        ("run_command", {"command": "ls -l"}, {"command": "ls -a"}, False),
        ("write_file", {"path": "a", "content": "hi"}, {"path": "a", "content": "hi\n"}, True),
        ("write_file", {"path": "a", "content": "hi"}, {"path": "a", "content": "Hi"}, False),
        ("current_time", {}, {"timezone": "UTC"}, False),
    ],
)
def test_arguments(tool: str, wanted: dict[str, str], made: dict[str, object], *, fits: bool) -> None:
    assert arguments_fit(Expected(tool, (wanted,)), call(tool, **made)) is fits


def test_another_tool_with_the_same_arguments_is_wrong(tmp_path: Path) -> None:
    verdict = judge(READ, Outcome((call("list_directory", path="a b.txt"),), 0, ""), tmp_path)
    assert verdict == Verdict(valid=True, tool=False, arguments=False, end=False)


def test_two_steps_in_the_wrong_order_are_wrong(tmp_path: Path) -> None:
    pair = Case(
        "t/4",
        "two_steps",
        ("?",),
        (),
        calls=(
            Expected("read_file", ({"path": "a"},)),
            Expected("calculator", ({"expression": "1 + 1"},)),
        ),
    )
    made = (call("read_file", path="a"), call("calculator", expression="1+1"))
    assert judge(pair, Outcome(made, 0, ""), tmp_path).end
    assert not judge(pair, Outcome(made[::-1], 0, ""), tmp_path).tool


def test_a_call_that_could_not_be_read_is_not_valid(tmp_path: Path) -> None:
    assert not judge(READ, Outcome((call("read_file", path="a b.txt"),), 1, ""), tmp_path).valid


def test_a_call_where_none_is_due_is_wrong_everywhere(tmp_path: Path) -> None:
    verdict = judge(QUIET, Outcome((call("read_file", path="x"),), 0, "Rome."), tmp_path)
    assert verdict == Verdict(valid=False, tool=False, arguments=False, end=False)


def test_where_no_tool_fits_the_answer_says_so(tmp_path: Path) -> None:
    assert judge(UNFIT, Outcome((), 0, "I can't send mail."), tmp_path).end
    assert not judge(UNFIT, Outcome((), 0, "Done, it is sent."), tmp_path).end


def test_an_answer_that_never_ended_is_no_good_end(tmp_path: Path) -> None:
    assert not judge(QUIET, Outcome((), 0, "so so so", "length"), tmp_path).end


def test_a_file_must_hold_the_text(tmp_path: Path) -> None:
    case = Case("t/5", "one_step", ("?",), (), calls=READ.calls, files=(("n.txt", "leeks"),))
    outcome = Outcome((call("read_file", path="a b.txt"),), 0, "")
    assert not judge(case, outcome, tmp_path).end
    (tmp_path / "n.txt").write_text("two leeks\n")
    assert judge(case, outcome, tmp_path).end


@pytest.mark.parametrize(
    ("fact", "answer", "found"),
    [
        ("8", "It is 8.", True),
        ("8", "It is 18.", False),
        ("8", "It is 80.", False),
        ("35862", "That makes 35,862.", True),
        ("303.6", "About 303.6667", True),
        ("Gdansk", "in gdansk", True),
    ],
)
def test_facts_in_an_answer(fact: str, answer: str, *, found: bool) -> None:
    assert says(fact, answer) is found


def test_wilson_against_published_figures() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
