"""Painting what changed, and little else: the compositor's share of what a streaming answer costs.

Textual paints a changed region by asking every visible widget for all its lines, and then takes those it wants. Here
only widgets behind the region are asked, for its lines alone, and none that a widget in front hides.

Invariant: what reaches the terminal is what Textual would have painted. Should a later Textual paint in another way,
nothing here is called, and it only costs more again.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual._compositor import Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip


class ThriftyCompositor(Compositor):
    """Renders the lines of a changed region only."""

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if crop is None:
            yield from super()._get_renders(crop)
            return
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            lines = shown.intersection(Region(shown.x, crop.y, shown.width, crop.height))
            if not lines or not lines.overlaps(crop):
                continue
            yield region, lines, widget.render_lines(lines.translate(-region.offset))
            if lines.contains_region(crop):
                return


class ThriftyScreen(Screen[None]):
    """A screen that paints through it."""

    def __init__(self, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(name, id, classes)
        self._compositor = ThriftyCompositor()
