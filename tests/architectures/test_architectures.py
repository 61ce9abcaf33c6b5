"""The page on architectures says what is found here and now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.architectures.page import PAGE, page
from tests.architectures.survey import survey

pytestmark = [pytest.mark.native, pytest.mark.model]


@pytest.mark.timeout(900)
def test_the_page_holds_for_every_architecture(tmp_path: Path) -> None:
    """Every recurrent, hybrid, windowed and dense model comes back exactly, or the page says why not."""
    proofs = survey(Path(os.environ["SKIPPY_TINY_MODELS"]), tmp_path)
    assert len(proofs) > 130
    off = {name for name, proof in proofs.items() if proof.method == "off" and proof.memory != "none"}
    assert off <= {"glm5-next-moe"}
    assert page(proofs) == PAGE.read_text(encoding="utf-8"), (
        "docs/architectures.md: run python -m tests.architectures --write"
    )
