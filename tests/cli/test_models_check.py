"""``skippy-chat models check`` on real models, in a real worker, and what the doctor says of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.cli.checks import check_proofs
from skippy_chat.paths import Paths
from tests.fakes.host import Desk

TinyModel = Callable[[str], Path]
pytestmark = [pytest.mark.native, pytest.mark.model]


@pytest.fixture
def proofs(desk: Desk) -> Path:
    return Paths.resolve(cache_dir=desk.root / "cache").proofs_dir


def test_a_model_whose_state_is_exact(desk: Desk, tiny_model: TinyModel, proofs: Path) -> None:
    path = tiny_model("falcon-h1-dense")
    assert desk.run("models", "check", str(path), "--threads", "1") == 0
    assert "hybrid" in desk.out
    assert "proven by range" in desk.out
    check = check_proofs(proofs)
    assert (check.state, check.found.startswith("proven for")) == ("ok", True)


def test_a_model_known_as_a_whole_only(desk: Desk, tiny_model: TinyModel) -> None:
    assert desk.run("models", "check", str(tiny_model("deepseek32-moe")), "--threads", "1", "--json") == 0
    assert desk.json["checkpoints"]["text"] == "proven by blob"
    assert desk.json["model"]["memory"] == "other"


def test_a_model_without_state_is_off_and_the_doctor_says_so(
    desk: Desk, tiny_model: TinyModel, proofs: Path
) -> None:
    assert desk.run("models", "check", str(tiny_model("dream-dense")), "--threads", "1") == 1
    assert "off: this model keeps no state" in desk.out
    check = check_proofs(proofs)
    assert check.state == "note"
    assert "this model keeps no state" in check.found


def test_a_missing_model_is_told(desk: Desk) -> None:
    assert desk.run("models", "check", "nothing-like-it") == 3
    assert "No model is called" in desk.err


def test_before_any_model_was_tried(proofs: Path) -> None:
    assert check_proofs(proofs).found == "no model was tried yet"
