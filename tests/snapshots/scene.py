"""How a picture is set up: a scene plays the app to where the picture is taken, at a size and in a theme.

Invariant: scenes say what they wait for; none waits for time to pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.widget import Widget
from textual.widgets import Input, TextArea

from tests.snapshots.picture import picture
from tests.tui.screen import Desk

SMALL, NARROW, LARGE = (80, 24), (60, 20), (200, 50)
PICTURES = Path(__file__).parent / "pictures"

Size = tuple[int, int]
Play = Callable[[Size], AbstractAsyncContextManager[Desk]]


@dataclass(frozen=True)
class Scene:
    """A state of the app, and how it is looked at; ``theme`` "" is the default one."""

    name: str
    play: Play
    size: Size = SMALL
    theme: str = ""
    colours: bool = True

    @property
    def file(self) -> Path:
        """Where its picture is."""
        return PICTURES / f"{self.name}.txt"

    async def taken(self) -> str:
        """Play it and return the picture."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TEXTUAL_ANIMATIONS", "none")
            patch.delenv("NO_COLOR", raising=False)
            if not self.colours:
                patch.setenv("NO_COLOR", "1")
            async with self.play(self.size) as desk:
                if self.theme:
                    desk.app.wear(self.theme)
                for box in (*desk.app.screen.query(TextArea), *desk.app.screen.query(Input)):
                    box.cursor_blink = False
                await desk.pilot.pause()
                await _bars_stand(desk)
                await desk.pilot.pause()
                return picture(desk.app)


async def _bars_stand(desk: Desk) -> None:
    """Wait for the scrollbars: Pilot waits for a screen's children, and they are none."""
    for screen in desk.app.screen_stack:
        for widget in screen.walk_children(Widget, with_self=True):
            for bar in (widget._vertical_scrollbar, widget._horizontal_scrollbar):
                handled = asyncio.Event()
                if bar is not None and bar.call_later(handled.set):
                    await handled.wait()


def scene(play: Callable[[Size], AsyncIterator[Desk]]) -> Play:
    """Turn a generator that yields where the picture is to be taken into a scene's play."""
    return asynccontextmanager(play)
