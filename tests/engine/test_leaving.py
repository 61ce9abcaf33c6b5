"""A lane is left only when it can be put back: asked of real lanes and real stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.engine.leaving import can_come_back
from tests.engine.engines import Bench, make_engine, numbers
from tests.engine.test_mutations import Stored

pytestmark = [pytest.mark.native, pytest.mark.model]

TinyModel = Callable[[str], Path]


@pytest.mark.parametrize("name", ["falcon-h1-dense", "llama-dense", "mamba-dense", "gemma3-dense"])
def test_a_lane_that_is_recorded_may_be_left(name: str, tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model(name), tmp_path))
    engine = bench.engine
    try:
        assert can_come_back(engine.lane, engine.store)  # it holds nothing
        bench.say(numbers(1, 60))
        assert can_come_back(engine.lane, engine.store)
        bench.messages.append({"role": "user", "content": numbers(2, 20)})
        bench.step(record=False)
        assert not can_come_back(engine.lane, engine.store)
        bench.step()
        assert can_come_back(engine.lane, engine.store)
        assert not can_come_back(engine.lane, None)
    finally:
        engine.close()


def test_a_lane_whose_state_is_gone_from_disk_may_not(tiny_model: TinyModel, tmp_path: Path) -> None:
    bench = Bench(make_engine(tiny_model("falcon-h1-dense"), tmp_path))
    try:
        bench.say(numbers(1, 60))
        end = bench.engine.lane.position
        Stored(tmp_path).rows(
            "DELETE FROM blobs WHERE kind = 1 AND node IN (SELECT id FROM nodes WHERE position = ?)", end
        )
        assert not can_come_back(bench.engine.lane, bench.engine.store)
    finally:
        bench.engine.close()
