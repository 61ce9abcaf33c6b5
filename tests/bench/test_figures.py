from __future__ import annotations

import json

import pytest

from skippy_chat.bench.figures import (
    Bar,
    Column,
    Disturbance,
    Figure,
    Plot,
    Report,
    Residency,
    Series,
    SuiteReport,
    Table,
    median,
    ratio_figure,
    ratios,
    to_json,
)


def report(*suites: SuiteReport, **machine: object) -> Report:
    return Report("skippy-chat bench", "1.2.3", 5, dict(machine), {}, {}, suites)


def test_the_median_of_pairs_is_of_their_ratios_not_of_their_sums() -> None:
    figure = ratio_figure("speed", [10.0, 1.0, 3.0], [5.0, 4.0, 3.0], Bar("at_least", 1.0))
    assert figure.samples == (2.0, 0.25, 1.0)
    assert figure.value == 1.0
    assert figure.met is True


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([3.0], 3.0), ([1.0, 9.0], 5.0), ([9.0, 1.0, 2.0], 2.0)]
)
def test_median(values: list[float], expected: float | None) -> None:
    assert median(values) == expected


def test_a_pair_that_cannot_be_divided_is_left_out_and_unequal_pairs_are_refused() -> None:
    assert ratios([1.0, 2.0], [0.0, 4.0]) == (0.5,)
    with pytest.raises(ValueError, match="longer"):
        ratios([1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("bar", "value", "met"),
    [
        (Bar("at_least", 0.97), 0.97, True),
        (Bar("at_least", 0.97), 0.969, False),
        (Bar("at_most", 2.0), 2.0, True),
        (Bar("at_most", 2.0), 2.001, False),
        (Bar("at_most", 2.0), None, None),
        (None, 3.0, None),
    ],
)
def test_a_bar(bar: Bar | None, value: float | None, met: bool | None) -> None:
    assert Figure("x", value, "times", bar).met is met


def test_a_run_is_quiet_only_if_nothing_was_seen() -> None:
    calm = SuiteReport("a", "c", 1.0, disturbances=(Disturbance("x", 1.0, 0.0, 0.1, True),))
    noisy = SuiteReport("b", "c", 1.0, disturbances=(Disturbance("x", 1.0, 0.9, 2.0, False),))
    assert report(calm).quiet
    assert not report(calm, noisy).quiet
    assert not report(calm, quiet_at_start=False).quiet


def test_json_has_every_value_with_the_command_that_repeats_it() -> None:
    suite = SuiteReport(
        "reuse",
        "skippy-chat bench --suites reuse",
        2.04,
        figures=(Figure("f", None, "times", Bar("at_most", 2.0)),),
        tables=(Table("t", "A table", (Column("a", "A"), Column("b", "B")), ((1, None), ("x", 2.5))),),
        plots=(Plot("p", "P", "x", "y", (Series("s", ((1.0, 2.0),)),)),),
        page_cache=(
            Residency("model", "now", 200, 50),
            Residency("model", "then", 200, None),
            Residency("nothing", "now", 0, 0),
        ),
        error="broke",
    )
    value = json.loads(json.dumps(to_json(report(suite))))
    assert value["schema"] == 1
    found = value["suites"][0]
    assert found["error"] == "broke"
    assert found["skipped"] is None
    assert found["figures"][0] | {} == {
        "name": "f",
        "value": None,
        "unit": "times",
        "bar": {"at_most": 2.0},
        "met": None,
        "samples": [],
        "note": "",
        "command": suite.command,
    }
    assert found["tables"][0]["rows"] == [{"a": 1, "b": None}, {"a": "x", "b": 2.5}]
    assert found["plots"][0]["series"] == {"s": [[1.0, 2.0]]}
    assert {each["command"] for each in (*found["figures"], *found["tables"], *found["plots"])} == {
        suite.command
    }
    assert [each["fraction"] for each in found["page_cache"]] == [0.25, None, None]
