"""A ledger that came from elsewhere: ids that this vocabulary does not have are never fed."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.engine.protocol import RecordedAnswer, StepRequest
from tests.engine.engines import GREEDY, make_engine, numbers

pytestmark = [pytest.mark.native, pytest.mark.model]


@pytest.mark.parametrize("foreign", [-1, 128, 1 << 30])
def test_the_answer_is_read_as_it_is_written(
    tiny_model: Callable[[str], Path], tmp_path: Path, foreign: int
) -> None:
    engine = make_engine(tiny_model("llama-dense"), tmp_path)
    assert engine.model.n_vocab == 128
    messages = [
        {"role": "user", "content": numbers(1, 30)},
        {"role": "assistant", "content": "7 8 9"},
        {"role": "user", "content": numbers(2, 20)},
    ]
    try:
        without = engine.step(StepRequest("s", "t", messages, GREEDY, {}, 2, by_ids=True), lambda _: None)
        answers = {1: RecordedAnswer(array("i", [7, foreign]), 2)}
        given = engine.step(StepRequest("s", "t", messages, GREEDY, answers, 2, by_ids=True), lambda _: None)
        assert given.ids == without.ids
    finally:
        engine.close()
