"""``skippy-chat models`` and the doctor on model files that are whole, broken, or not there."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from skippy_chat.cli.checks import check_model
from skippy_chat.errors import ConfigError
from skippy_chat.models.default import DEFAULT_FILE
from skippy_chat.paths import Paths
from tests.fakes.host import Desk


def write_model(path: Path, name: str = "Tiny") -> Path:
    """Write a model file with one tensor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_context_length(2048)
    writer.add_tensor("token_embd.weight", np.zeros((4, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def models(desk: Desk) -> Path:
    folder = desk.root / "cache" / "models"
    write_model(folder / "tiny.gguf", "Tiny\x1b[31m one")
    (folder / "broken.gguf").write_bytes(b"GGUF\x03\x00")
    return folder


def test_no_model_is_here(desk: Desk) -> None:
    assert desk.run("models", "list") == 0
    assert desk.out == ""
    desk.run("models", "list", "--json")
    assert desk.json["models"] == []
    assert not (desk.root / "cache").exists()


def test_list_tells_whole_files_from_broken_ones(desk: Desk, models: Path) -> None:
    assert desk.run("models", "list", "--json") == 0
    found = {model["name"]: model for model in desk.json["models"]}
    assert found["tiny"]["architecture"] == "llama"
    assert found["tiny"]["context_length"] == 2048
    assert found["tiny"]["fault"] is None
    assert "broken.gguf" in found["broken"]["fault"]
    assert desk.run("models", "list") == 0
    assert "2,048" in desk.out


def test_info_by_name_and_by_path(desk: Desk, models: Path) -> None:
    assert desk.run("models", "info", "tiny") == 0
    assert "Name: Tiny one\n" in desk.out
    assert desk.run("models", "info", str(models / "tiny.gguf"), "--json") == 0
    assert desk.json["model"]["tensors"] == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tny", "Did you mean tiny?"),
        ("default", "not made yet"),
        ("/no/such.gguf", "/no/such.gguf"),
        ("broken", ""),
    ],
)
def test_info_of_what_cannot_be_shown(desk: Desk, models: Path, name: str, told: str) -> None:
    assert desk.run("models", "info", name) == 3
    assert told in desk.err
    assert desk.err.count("\n") == 1


def test_the_doctor_on_models(desk: Desk, models: Path) -> None:
    paths = Paths(desk.root / "data", desk.root / "cache", desk.root / "config")
    assert check_model(paths, lambda: None).state == "note"
    write_model(models / DEFAULT_FILE, "Default")
    assert check_model(paths, lambda: None).found.startswith("Default (llama)")
    assert check_model(paths, lambda: "tiny").state == "ok"
    assert check_model(paths, lambda: "broken").state == "wrong"
    assert check_model(paths, lambda: "nothing").state == "wrong"

    def unreadable() -> str | None:
        raise ConfigError("Bad.")

    assert check_model(paths, unreadable).state == "note"


def test_doctor_reports_every_check(desk: Desk, models: Path) -> None:
    code = desk.run("doctor", "--json", "-c", "model=broken")
    assert code == 1
    assert desk.json["ok"] is False
    states = {check["name"]: check["state"] for check in desk.json["checks"]}
    assert states["model"] == "wrong"
    assert states["Python"] == states["config"] == states["conversations"] == "ok"
    assert all(check["mend"] for check in desk.json["checks"] if check["state"] == "wrong")
    assert desk.run("doctor", "-c", "model=broken") == 1
    assert "WRONG model: " in desk.out
