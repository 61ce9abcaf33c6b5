"""What is painted thriftily is what Textual would have painted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import pytest
from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip

from skippy_chat.tui.painting import ThriftyCompositor, ThriftyScreen
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.screen import app_on

pytestmark = pytest.mark.timeout(180)

Render: TypeAlias = "tuple[Region, Region, list[Strip]]"
PIECES = tuple(f"word{number} " + ("\n\n- item `x`\n" if number % 7 == 0 else "") for number in range(120))


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_every_update_is_the_same_text_for_the_same_cells(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    compared = fewer = 0
    thrifty = ThriftyCompositor._get_renders

    def both(self: ThriftyCompositor, crop: Region | None = None) -> Iterable[Render]:
        nonlocal compared, fewer
        if crop is None:
            return thrifty(self)
        asked: list[int] = []
        results = []
        for renders in (Compositor._get_renders, thrifty):
            found = list(renders(self, crop))
            asked.append(sum(len(strips) for _, _, strips in found))
            results.append(cells_of(found, crop))
        assert results[0] == results[1]
        compared += 1
        fewer += asked[1] < asked[0]
        return found

    monkeypatch.setattr(ThriftyCompositor, "_get_renders", both)
    async with app_on(FakeConversation([Turn(PIECES), Turn(PIECES, endless=True)]), size=size) as desk:
        assert isinstance(desk.app.screen, ThriftyScreen)
        await desk.say("one")
        await desk.ready()
        await desk.say("two")
        await desk.wait_until(lambda: "word119" in desk.texts[-1])
        await desk.type("typed while it streams")
        await desk.pilot.press("shift+tab", "pageup", "escape", "escape")
        await desk.ready()
    assert compared > 10
    assert fewer > compared // 2


def cells_of(renders: list[Render], crop: Region) -> dict[tuple[int, int], str]:
    """Return what ends up in each cell of the region: the widget in front wins."""
    cells: dict[tuple[int, int], str] = {}
    for region, clip, strips in renders:
        shown = region.intersection(clip)
        for y, strip in zip(shown.line_range, strips, strict=False):
            text = strip.text
            for x, character in zip(shown.column_range, text, strict=False):
                if crop.contains(x, y):
                    cells.setdefault((x, y), character)
    return cells
