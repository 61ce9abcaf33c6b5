"""The products of a run are in bfloat16 only where that is faster."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here; see training/README.md")

from training.precision import fastest  # noqa: E402 - after the skip


@pytest.mark.parametrize(("bfloat16", "chosen"), [(0.5, "bfloat16"), (0.99, "float32"), (8.0, "float32")])
def test_bfloat16_must_pay(bfloat16: float, chosen: str) -> None:
    assert fastest({torch.bfloat16: bfloat16, torch.float32: 1.0}.__getitem__) == getattr(torch, chosen)


def test_a_processor_is_measured() -> None:
    assert fastest() in (torch.bfloat16, torch.float32)
