"""What the bench's tests share: options for a run on a tiny model, so short that it takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.bench.plan import SUITES, Plan
from skippy_chat.bench.program import Options
from skippy_chat.bench.stock import PeersMissing, Stock

TINY = Plan(
    lengths=(100,), pairs=2, repeats=1, unique=64, answer=8, decode=8, turn=12, grow_to=128, sessions=4
)


@pytest.fixture
def tiny_options(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[..., Options]:
    """Return options for a tiny hybrid model, with what is given changed."""

    def make(*, model: str = "falcon-h1-dense", **changed: object) -> Options:
        (tmp_path / "temporary").mkdir()
        options = Options(
            model=tiny_model(model),
            plan=TINY,
            threads=1,
            context=TINY.context,
            suites=SUITES,
            prefix=tmp_path,
            temporary=tmp_path / "temporary",
        )
        return replace(options, **changed)  # type: ignore[arg-type]

    return make


@pytest.fixture
def stock() -> Stock:
    """The stock programs, where `make peers` has built them."""
    try:
        return Stock.find(None, Path(sys.prefix))
    except PeersMissing as missing:
        pytest.skip(str(missing))
