"""A picture of a run's loss, from its log, as SVG written by hand: no library is worth one curve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from training.lines import read_lines

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 380, 60, 20, 30, 50
_SMOOTH = 0.9

Point = tuple[float, float]


def plot(log: Path, target: Path) -> None:
    """Draw the loss of each step, smoothed and not, and that of the development set, over steps."""
    lines = read_lines(log)
    steps = [(float(each["step"]), float(each["words"])) for each in lines if each.get("words")]
    development = [
        (float(each["step"]), float(each["development"])) for each in lines if "development" in each
    ]
    if not steps:
        return
    part = target.with_name(f".{target.name}.part")
    part.write_text(_drawn(steps, _smooth(steps), development), encoding="utf-8")
    part.replace(target)


def _smooth(points: Sequence[Point]) -> list[Point]:
    level, smoothed = points[0][1], []
    for step, value in points:
        level = _SMOOTH * level + (1 - _SMOOTH) * value
        smoothed.append((step, level))
    return smoothed


def _drawn(raw: Sequence[Point], smooth: Sequence[Point], development: Sequence[Point]) -> str:
    last = max(step for step, _ in (*raw, *development)) or 1.0
    # The first steps are far above all others; the rest should fill the picture.
    top = (
        max(
            sorted(value for _, value in raw)[int(len(raw) * 0.95)], *(value for _, value in development), 0.1
        )
        * 1.05
    )

    def place(point: Point) -> str:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * point[0] / last
        y = _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - min(point[1], top) / top)
        return f"{x:.1f},{y:.1f}"

    def line(points: Sequence[Point], colour: str, width: float) -> str:
        drawn = " ".join(place(point) for point in points)
        return f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}"/>'

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"'
            ' font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for mark in range(5):
        value = top * mark / 4
        y = place((0, value)).split(",")[1]
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y}" text-anchor="end" dominant-baseline="middle">{value:.2f}</text>'
        )
        x = place((last * mark / 4, 0)).split(",")[0]
        parts.append(
            f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle">{last * mark / 4:.0f}</text>'
        )
    parts += [line(raw, "#c8d4e6", 1), line(smooth, "#1f5aa6", 2)]
    if development:
        parts.append(line(development, "#c0392b", 2))
    parts += [
        f'<text x="{_LEFT}" y="18" fill="#1f5aa6">training, nats per counted token (smoothed)</text>',
        f'<text x="{_LEFT + 290}" y="18" fill="#c0392b">development set</text>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 10}" text-anchor="middle">step</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
