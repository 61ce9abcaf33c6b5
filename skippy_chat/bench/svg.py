"""A small writer of plots as SVG, so that plots need no library and open in any browser.

Invariant: the output is well-formed XML whatever the names in it, and every point that is given is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from skippy_chat.bench.figures import Plot

_WIDTH, _HEIGHT = 860, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 64, 60
_LEGEND_ROW = 18
# Told apart also without colour: each line has a dash pattern of its own.
_LINES = (
    ("#0b6e99", ""),
    ("#c2410c", "7 4"),
    ("#4d7c0f", "2 3"),
    ("#7e22ce", "9 3 2 3"),
    ("#b91c1c", "4 4"),
    ("#374151", "12 4"),
)
_TITLE_WIDTH = 110
_FEW = 8
_MARKED = 64  # points of more are seen only as their line


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to places: ``low`` to ``high`` over ``start`` to ``stop`` (pixels), linear or logarithmic."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value."""
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (here - low) / (high - low) * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Return the values that are marked."""
        return _log_ticks(self.low, self.high) if self.log else _linear_ticks(self.low, self.high)


def to_svg(plot: Plot, command: str = "") -> str:
    """Return a plot as one SVG document; ``command`` is what repeats it, written below."""
    points = [point for series in plot.series for point in series.points]
    legend = _TOP + _LEGEND_ROW * len(plot.series)
    bottom = _HEIGHT - _BOTTOM + _LEGEND_ROW * len(plot.series)
    across = _axis([x for x, _ in points], _LEFT, _WIDTH - _RIGHT, log=plot.log_x, zero=False)
    if plot.categories:
        across = Axis(0.5, len(plot.categories) + 0.5, _LEFT, _WIDTH - _RIGHT)
    up = _axis([y for _, y in points], bottom, legend, log=plot.log_y, zero=True)
    height = bottom + _BOTTOM + 20
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    middle = (bottom + legend) / 2
    # A few lengths are marked where they are, instead of round numbers between them.
    measured = sorted({x for x, _ in points if x > 0})
    marks = measured if plot.log_x and len(measured) <= _FEW else []
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" fill="#111">',
        f"<title>{escape(plot.title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        *_title(plot.title),
        *_grid(up, bottom),
        *(
            _names(plot.categories, across, bottom)
            if plot.categories
            else _marks(across, bottom, legend, marks)
        ),
        _text(_WIDTH / 2, bottom + 38, plot.x_label, "middle"),
        f'<g transform="rotate(-90 18 {middle:.1f})">{_text(18, middle, plot.y_label, "middle")}</g>',
        *(_bars(plot, across, up, bottom) if plot.categories else _lines(plot, across, up)),
        _text(_LEFT, height - 10, command, "start", size=10),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _title(title: str) -> Iterator[str]:
    words, row, y = title.split(), "", 22
    for word in words:
        if row and len(row) + len(word) >= _TITLE_WIDTH:
            yield _text(_LEFT, y, row, "start", size=13)
            row, y = "", y + 16
        row = f"{row} {word}".strip()
    yield _text(_LEFT, y, row, "start", size=13)


def _grid(up: Axis, bottom: float) -> Iterator[str]:
    for value in up.ticks():
        y = up.at(value)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(_LEFT - 8, y + 4, _number(value), "end")
    yield f'<line x1="{_LEFT}" y1="{bottom:.1f}" x2="{_WIDTH - _RIGHT}" y2="{bottom:.1f}" stroke="#555"/>'


def _marks(across: Axis, bottom: float, top: float, marks: Sequence[float]) -> Iterator[str]:
    for value in marks or across.ticks():
        x = across.at(value)
        yield f'<line x1="{x:.1f}" y1="{bottom:.1f}" x2="{x:.1f}" y2="{top:.1f}" stroke="#eee"/>'
        yield _text(x, bottom + 18, _number(value), "middle")


def _names(categories: Sequence[str], across: Axis, bottom: float) -> Iterator[str]:
    for number, name in enumerate(categories, 1):
        yield _text(across.at(number), bottom + 18, name, "middle", size=11)


def _bars(plot: Plot, across: Axis, up: Axis, bottom: float) -> Iterator[str]:
    wide = (across.at(2) - across.at(1)) * 0.8 / len(plot.series)
    for number, series in enumerate(plot.series):
        colour, _dashes = _LINES[number % len(_LINES)]
        for x, y in series.points:
            left = across.at(x) + (number - len(plot.series) / 2) * wide
            top = up.at(_usable(y, up))
            size = f'width="{wide * 0.92:.1f}" height="{bottom - top:.1f}"'
            yield f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" {size} fill="{colour}"/>'
        yield from _legend(number, series.name)


def _lines(plot: Plot, across: Axis, up: Axis) -> Iterator[str]:
    for number, series in enumerate(plot.series):
        colour, dashes = _LINES[number % len(_LINES)]
        pattern = f' stroke-dasharray="{dashes}"' if dashes else ""
        places = [(across.at(_usable(x, across)), up.at(_usable(y, up))) for x, y in series.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{pattern}/>'
        for x, y in places if len(places) <= _MARKED else ():
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield from _legend(number, series.name)


def _legend(number: int, name: str) -> Iterator[str]:
    colour, dashes = _LINES[number % len(_LINES)]
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ""
    y = _TOP - 8 + _LEGEND_ROW * number
    yield f'<line x1="{_LEFT}" y1="{y}" x2="{_LEFT + 28}" y2="{y}" stroke="{colour}" stroke-width="4"{pattern}/>'
    yield _text(_LEFT + 36, y + 4, name, "start")


def _usable(value: float, axis: Axis) -> float:
    """Return the value, or the axis's end where a logarithm has no place for it."""
    return max(value, axis.low) if axis.log else value


def _text(x: float, y: float, text: str, anchor: str, *, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _axis(values: Sequence[float], start: float, stop: float, *, log: bool, zero: bool) -> Axis:
    """Return an axis that holds all values; a linear one upwards begins at zero."""
    if log:
        known = [value for value in values if value > 0] or [1.0]
        low, high = min(known), max(known)
        if zero:
            low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        return Axis(low, high if high > low else low * 10, start, stop, log=True)
    low, high = min([*values, *([0.0] if zero else [])]), max(values)
    if high == low:
        high = low + 1
    return Axis(low, high + (high - low) * 0.05 * zero, start, stop)


def _linear_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 6
    step = 10 ** math.floor(math.log10(raw))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= raw)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [factor * 10.0**power for factor in (1, 2, 5)]
    return [value for value in found if low * 0.999 <= value <= high * 1.001]


def _number(value: float) -> str:
    if value and (abs(value) >= 1e7 or abs(value) < 1e-3):
        return f"{value:.0e}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"
