"""``skippy-chat gate`` as it is typed: exit codes, JSON, and folders of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.host import Desk

TinyModel = Callable[[str], Path]


def test_a_phase_that_is_none(desk: Desk) -> None:
    assert desk.run("gate", "--phases", "edit", "--json") == 2
    assert desk.json["error"]["hint"] == "Did you mean edits?"


def test_a_model_that_is_none(desk: Desk) -> None:
    assert desk.run("gate", "--model", "nothing-like-it") == 3
    assert "No model is called" in desk.err


@pytest.mark.native
@pytest.mark.model
def test_json_on_a_tiny_model_in_folders_of_its_own(desk: Desk, tiny_model: TinyModel) -> None:
    model = tiny_model("llama-dense")
    common = ("--model", str(model), "--threads", "1", "--prefix", "60")
    assert desk.run("gate", *common, "--phases", "exact_replay,changed_tail", "--json") == 0
    found = desk.json
    assert found["passed"] is True
    assert [phase["name"] for phase in found["phases"]] == ["changed_tail", "exact_replay"]
    assert all(check["passed"] for phase in found["phases"] for check in phase["checks"])
    assert found["model"]["architecture"] == "llama"
    assert found["material"]["mode"] == "ids"  # it has no template
    assert "changed_tail passed" in desk.err
    evidence = Path(found["evidence"])
    assert evidence.parent == desk.root / "data" / "gate"
    assert (evidence / "changed_tail" / "turns.jsonl").exists()
    assert not (desk.root / "cache" / "checkpoints").exists()
    assert not (desk.root / "data" / "history.db").exists()


@pytest.mark.native
@pytest.mark.model
def test_a_failure_is_exit_code_1_and_shown(desk: Desk, tiny_model: TinyModel, tmp_path: Path) -> None:
    """Where the budget holds nothing there is nothing to reuse, and the gate does not pass over that."""
    evidence = tmp_path / "evidence"
    arguments = ("--model", str(tiny_model("llama-dense")), "--threads", "1", "--prefix", "60")
    assert (
        desk.run(
            "gate",
            *arguments,
            "--phases",
            "exact_replay",
            "-c",
            "disk_budget=4KiB",
            "--evidence",
            str(evidence),
        )
        == 1
    )
    assert "exact_replay" in desk.out
    assert "FAILED: exact_replay" in desk.out
    assert "expected:" in desk.out
    assert (evidence / "report.json").exists()


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(300)
def test_words_through_the_default_models_template(desk: Desk, default_model: Path) -> None:
    phases = "changed_tail,exact_replay,restart,native_log"
    arguments = ("--model", str(default_model), "--threads", "1", "--prefix", "200", "--phases", phases)
    assert desk.run("gate", *arguments, "--json") == 0
    found = desk.json
    assert found["material"]["mode"] == "text"
    assert found["model"]["kind"] == "hybrid"
    assert abs(int(found["phases"][0]["summary"].split()[0]) - 200) < 30
