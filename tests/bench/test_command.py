"""``skippy-chat bench`` as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.host import Desk

TinyModel = Callable[[str], Path]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--suites", "restor"), "There is no suite restor. Did you mean restore?"),
        (("--suites", ","), "--suites names none."),
        (("--lengths", "1k"), "--lengths 1k are not whole numbers."),
        (("--lengths", "12"), "at least 64"),
    ],
)
def test_a_wrong_command_line_measures_nothing(desk: Desk, arguments: tuple[str, ...], told: str) -> None:
    assert desk.run("bench", *arguments) == 2
    assert told in desk.err
    assert not (desk.root / "data").exists()


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(600)
def test_the_default_model_at_a_very_short_length(desk: Desk, default_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [
        "--model",
        str(default_model),
        "--threads",
        "2",
        "--quick",
        "--lengths",
        "64",
        "--ctx",
        "512",
    ]
    assert desk.run("bench", "--suites", "restore", *arguments, "--out", str(out), "--json") == 0
    value = desk.json
    assert value["settings"]["by_ids"] is False
    assert value["command"].startswith("skippy-chat bench --suites restore --threads 2 --lengths 64")
    (suite,) = value["suites"]
    (row,) = suite["tables"][0]["rows"]
    assert row["prompt"] > 64
    assert row["bytes"] > 1
    assert json.loads((out / "report.json").read_text())["suites"] == value["suites"]
    assert {Path(file).name for file in value["files"]} == {"restore.svg", "report.json"}
    assert "restore: 64 tokens" in desk.err


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(600)
def test_a_table_for_people_and_files_below_the_data_folder(desk: Desk, tiny_model: TinyModel) -> None:
    model = str(tiny_model("falcon-h1-dense"))
    arguments = ["--suites", "restore", "--quick", "--lengths", "80", "--model", model, "--threads", "1"]
    assert desk.run("bench", *arguments) == 0
    assert "lookup to logits" in desk.out
    (folder,) = (desk.root / "data" / "bench").iterdir()
    assert {path.name for path in folder.iterdir()} == {"restore.svg", "report.json"}
    assert str(folder) in desk.out
    assert not list((desk.root / "cache" / "bench").iterdir())


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(600)
def test_a_suite_that_fails_gives_exit_code_1(desk: Desk, tiny_model: TinyModel) -> None:
    model = str(tiny_model("falcon-h1-dense"))
    nowhere = str(desk.root / "nowhere")
    arguments = ["--suites", "engine", "--quick", "--model", model, "--threads", "1", "--peers", nowhere]
    assert desk.run("bench", *arguments, "--json") == 1
    assert "make peers" in desk.json["suites"][0]["error"]
