from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from skippy_chat.bench.figures import Plot, Series
from skippy_chat.bench.svg import Axis, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def plot(*series: Series, log: bool = False) -> Plot:
    return Plot("p", "Time & <more>", 'x "quoted"', "y", series, log_x=log, log_y=log)


def circles(text: str) -> list[tuple[float, float]]:
    root = ET.fromstring(text)
    return [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in root.iter(f"{SVG}circle")]


@pytest.mark.parametrize("log", [False, True])
def test_it_is_well_formed_and_every_point_is_drawn_within_the_picture(log: bool) -> None:
    lines = (Series("a <b> & c", ((1, 0.01), (10, 5), (1000, 900))), Series("zero", ((1, 0.0), (1000, 0.0))))
    text = to_svg(plot(*lines, log=log), "skippy-chat bench --model 'a & b'")
    places = circles(text)
    assert len(places) == 5
    root = ET.fromstring(text)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert {"a <b> & c", "zero", "Time & <more>", "skippy-chat bench --model 'a & b'"} <= set(words)


def test_more_is_higher_and_later_is_further_right() -> None:
    low, high = circles(to_svg(plot(Series("s", ((1, 1), (2, 3))))))
    assert low[0] < high[0]
    assert low[1] > high[1]


@pytest.mark.parametrize(
    "points", [((5.0, 7.0),), ((5.0, 0.0),), ((0.0, 0.0), (0.0, 0.0)), ((-3.0, 2.0), (4.0, 2.0))]
)
@pytest.mark.parametrize("log", [False, True])
def test_degenerate_points(points: tuple[tuple[float, float], ...], log: bool) -> None:
    text = to_svg(plot(Series("s", points), log=log))
    assert len(circles(text)) == len(points)
    assert not re.search(r"\b(nan|inf)\b", text)


def test_lines_differ_also_without_colour() -> None:
    text = to_svg(plot(*(Series(str(n), ((1, n), (2, n))) for n in range(1, 5))))
    drawn = [each.attrib for each in ET.fromstring(text).iter(f"{SVG}polyline")]
    assert len({each.get("stroke-dasharray") for each in drawn}) == 4


def test_ticks_are_round_and_within_the_axis() -> None:
    assert Axis(0, 1234, 0, 1).ticks() == [0, 500, 1000]
    assert Axis(1, 1000, 0, 1, log=True).ticks() == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert Axis(0, 10, 100, 0).at(2.5) == 75


def test_bars_stand_beside_each_other_over_their_category() -> None:
    series = (Series("ours", ((1, 5.0), (2, 0.0))), Series("theirs", ((1, 10.0), (2, 20.0))))
    text = to_svg(Plot("p", "P", "", "ms", series, log_y=True, categories=("cold", "a, <b>")))
    root = ET.fromstring(text)
    bars = [
        (float(each.attrib["x"]), float(each.attrib["y"]), float(each.attrib["height"]), each.attrib["fill"])
        for each in root.iter(f"{SVG}rect")
        if each.get("class") == "bar"
    ]
    assert len(bars) == 4
    assert bars[0][2] < bars[2][2] < bars[3][2]
    assert all(height >= 0 for _x, _y, height, _fill in bars)
    assert bars[0][0] < bars[2][0] < bars[1][0] < bars[3][0]
    assert bars[0][3] == bars[1][3] != bars[2][3]
    assert {"cold", "a, <b>"} <= {each.text for each in root.iter(f"{SVG}text")}
