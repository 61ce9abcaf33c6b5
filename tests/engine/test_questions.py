"""Questions about the cache, and their answers, survive the pipe as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skippy_chat.engine.protocol import to_line
from skippy_chat.engine.questions import (
    KINDS,
    CheckpointTree,
    EditCost,
    Foreseen,
    ForeseeQuestion,
    Question,
    Told,
    TreeNode,
    TreeQuestion,
    parse_question,
    parse_told,
)
from skippy_chat.events import MissReason
from tests.engine.test_protocol import STEP

NODE = TreeNode(None, 12, 12, 1, 0, "end_of_system", True, True, False, True, True, 100, 20, 3)
TREE = CheckpointTree((NODE,), (EditCost(0, 0, 12, 0.5), EditCost(1, 12, 9, None)), 21, 12, 5, 9)


def frame(question: Question) -> dict[str, Any]:
    line = json.loads(to_line("request", question, kind=question.kind))
    assert isinstance(line, dict)
    return line


@pytest.mark.parametrize("question", [ForeseeQuestion(STEP), TreeQuestion([STEP, STEP]), TreeQuestion([])])
def test_a_question_survives(question: Question) -> None:
    sent = frame(question)
    assert sent["kind"] in KINDS
    assert parse_question(sent) == question


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (ForeseeQuestion(STEP), Foreseen(9, 5, "disk", MissReason("diverged", 5, 1, "x"), 0.25, 1024)),
        (ForeseeQuestion(STEP), Foreseen(9, 9, "live", None, None, 1024)),
        (TreeQuestion([STEP]), TREE),
        (TreeQuestion([]), CheckpointTree((), (), 0, 0, 0, 0, MissReason("off"))),
    ],
)
def test_an_answer_survives(question: Question, told: Told) -> None:
    assert parse_told(question, json.loads(to_line("reply", told))["body"]) == told


def test_sums_and_what_is_left_to_read() -> None:
    assert (NODE.bytes, TREE.bytes) == (123, 123)
    assert Foreseen(9, 5, "disk", None, None, 10).to_read == 4
    assert Foreseen(9, 5, "disk", None, None, 10).fits
    assert not Foreseen(10, 5, "disk", None, None, 10).fits  # an answer has a token


@pytest.mark.parametrize(
    "broken", [{"kind": "step"}, {}, {"kind": "tree", "body": {}}, {"kind": "foresee", "body": {"step": {}}}]
)
def test_what_is_no_question_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"question|request"):
        parse_question(broken)
