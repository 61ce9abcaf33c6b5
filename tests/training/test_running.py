"""The small parts of a run: rates, quantisation, the picture, the log, the table of shares."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from skippy_chat.models.branch import LayerBranch
from skippy_chat.models.branch_file import read_branch
from tests.models.seeded import seeded_branch
from training.answers import circles, load_answers
from training.beside import beside
from training.checking import Verdict
from training.evaluate import Judged, Trial, chosen_cases, evaluate, read_results, report
from training.export import MOST_BYTES, export
from training.grafting import WithoutRecurrence
from training.log import summary
from training.plot import plot
from training.quantise import to_q8_0
from training.questions import questions
from training.settings import KINDS, Settings

RIGHT = Verdict(valid=True, tool=True, arguments=True, end=True)


def test_the_rate_rises_then_falls() -> None:
    settings = Settings()
    rates = [settings.rate_at(share / 100) for share in range(101)]
    assert max(rates) == pytest.approx(settings.rate)
    assert rates[0] < 0.05 * settings.rate
    assert rates[100] == pytest.approx(settings.last_rate)
    assert rates[5:] == sorted(rates[5:], reverse=True)


def test_settings_come_back(tmp_path: Path) -> None:
    settings = Settings(kind="adapter", minutes=3)
    settings.write(tmp_path / "settings.json")
    assert Settings.read(tmp_path / "settings.json") == settings


@pytest.mark.parametrize("kind", KINDS)
def test_controls_have_about_as_many_weights(kind: str) -> None:
    def trained(settings: Settings) -> int:
        shape = settings.shape
        rows = 2 * shape.inner if settings.kind == "adapter" else shape.projection_rows
        return 576 * rows + 576 * shape.inner

    assert trained(Settings(kind=kind)) == pytest.approx(trained(Settings()), rel=0.04)


def test_q8_0_is_ggmls() -> None:
    rows = np.random.default_rng(1).normal(0, 1, (7, 96)).astype(np.float32)
    rows[3, 32:64] = 0
    expected = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.Q8_0)
    assert to_q8_0(rows) == expected.tobytes()


def test_the_branch_fits_what_may_be_committed(tmp_path: Path) -> None:
    shape = Settings().shape
    written = export(seeded_branch(shape, 1), 30, 576, tmp_path / "branch.gguf", "test")
    assert 14 << 20 < written.size <= MOST_BYTES
    branch = read_branch(written.path)
    branch.layer(29, 576).check(shape, 576)
    forgetful = WithoutRecurrence(branch).layer(3, 576)
    assert (forgetful.decay == -1e6).all()
    for field in ("project_in", "conv_weight", "dt_bias", "project_out"):
        assert np.array_equal(getattr(forgetful, field), getattr(branch.layer(3, 576), field))


def test_a_branch_that_is_too_large_is_refused(tmp_path: Path) -> None:
    shape = replace(Settings().shape, inner=288, heads=9)

    class Branch:
        def __init__(self) -> None:
            self.shape = shape

        def layer(self, index: int, width: int) -> LayerBranch:
            return seeded_branch(shape, 1).layer(0, width)

    with pytest.raises(ValueError, match="is the limit"):
        export(Branch(), 40, 576, tmp_path / "branch.gguf", "test")


def test_the_picture_is_one(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [{"step": step, "words": 5 / (step + 1), "base": 0.0} for step in range(200)]
    log.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"step": 200, "development": 0.4}]))
    plot(log, tmp_path / "loss.svg")
    root = ET.parse(tmp_path / "loss.svg").getroot()
    curves = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(curve.attrib["points"].split()) for curve in curves] == [200, 200, 1]


def test_a_log_in_a_few_words(tmp_path: Path) -> None:
    assert summary(tmp_path, Settings()) == "not a step yet"
    line = {"step": 4, "words": 0.5, "base": 0.01, "tokens": 900, "counted": 300, "seconds": 3.0}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    assert "300 tokens/s, loss 0.500 + 0.010" in summary(tmp_path, Settings())


def test_answers_that_go_round_are_known() -> None:
    assert circles("I like it a lot and " * 6)
    assert not circles(
        "Bread rises because yeast makes gas, which the dough holds until it sets in the heat."
    )


def test_chat_answers_belong_to_the_questions() -> None:
    pairs = load_answers()
    assert len(pairs) >= 30
    assert {pair.question for pair in pairs} <= set(questions())
    assert len(questions()) >= 350


def test_the_report_has_shares_with_intervals() -> None:
    judged = [Judged(f"t/{index}", "one_step", "calculator", RIGHT, "", ()) for index in range(9)]
    judged.append(replace(judged[0], name="t/9", verdict=replace(RIGHT, arguments=False, end=False)))
    table = report(judged)
    assert (
        "| one_step | 10 | 100 % (72 to 100) | 100 % (72 to 100) | 90 % (60 to 98) | 90 % (60 to 98) |"
        in table
    )
    assert "| one_step: calculator | 10 |" in table
    assert "no call" not in table


def test_what_is_judged_is_not_run_again(tmp_path: Path) -> None:
    cases = chosen_cases("dev", ["plain_chat"], every=7)
    results = tmp_path / "results.jsonl"
    done = [Judged(case.name, case.cell, "", RIGHT, "Well.", ()) for case in cases]
    results.write_text("".join(json.dumps(asdict(each)) + "\n" for each in done) + '{"name": "cut sh')
    nowhere = Trial(tmp_path / "no-such-model.gguf", tmp_path, 1)
    assert evaluate(cases, nowhere, results, print) == done == read_results(results)


@pytest.mark.model
@pytest.mark.timeout(300)
def test_a_case_runs_through_the_product(default_model: Path, tmp_path: Path) -> None:
    cases = chosen_cases("test", ["plain_chat"], every=1)[:1]
    results = tmp_path / "results.jsonl"
    judged = evaluate(cases, Trial(default_model, tmp_path, 1), results, print)
    assert judged[0].verdict == RIGHT, judged
    assert read_results(results) == judged


def test_runs_beside_each_other_on_the_steps_they_share(tmp_path: Path) -> None:
    for kind, losses in (("full", (3.0, 1.0, 1.0, 9.0)), ("adapter", (4.0, 2.0, 3.0))):
        folder = tmp_path / kind
        folder.mkdir()
        Settings(kind=kind).write(folder / "settings.json")
        lines = [
            {"step": step, "words": loss, "counted": 100 * (step + 1)} for step, loss in enumerate(losses)
        ]
        lines += [{"step": 2, "development": losses[2]}, {"step": len(losses), "development": 5.0}]
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = beside([tmp_path / "full", tmp_path / "adapter"], 2).splitlines()
    assert told[0] == "| steps | full | adapter |"
    assert told[2:] == [
        "| 0 to 1 | 1.667 | 2.667 |",
        "| 2 to 2 | 1.000 | 3.000 |",
        "| development set, after 2 | 1.000 | 3.000 |",
    ]
    Settings(kind="adapter", seed=7).write(tmp_path / "adapter" / "settings.json")
    with pytest.raises(ValueError, match="other batches"):
        beside([tmp_path / "full", tmp_path / "adapter"], 2)
