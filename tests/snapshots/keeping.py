"""Scenes of the cache: the tree of what is kept, and what stands on the box before a text is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

from skippy_chat.engine.questions import Foreseen
from skippy_chat.tui.cache_screen import CacheScreen
from skippy_chat.tui.cache_tree import CheckpointTreeView
from tests.snapshots.scene import LARGE, NARROW, Scene, Size, scene
from tests.tui.kept import edge, session_of, two_branches
from tests.tui.screen import Desk, app_on

WORDS = (
    "Answer in one sentence.",
    "What is a lighthouse for?",
    "It warns ships of rocks, and tells them where they are.",
    "And a light ship?",
    "And who keeps it?",
)


@scene
async def kept(size: Size) -> AsyncIterator[Desk]:
    async with app_on(session_of(two_branches(*WORDS)), size=size) as desk:
        await desk.pilot.press("ctrl+t")
        await desk.wait_until(
            lambda: (
                isinstance(desk.app.screen, CacheScreen)
                and desk.app.screen.query_one(CheckpointTreeView).row is not None
            )
        )
        yield desk


@scene
async def foretold(size: Size) -> AsyncIterator[Desk]:
    talk = session_of(two_branches(*WORDS))
    talk.outlook = Foreseen(18611, 18432, "disk", None, 1.2, 32768)
    async with app_on(talk, size=size) as desk:
        await desk.type("And in fog?")
        await desk.wait_until(lambda: edge(desk))
        yield desk


@scene
async def edit_foretold(size: Size) -> AsyncIterator[Desk]:
    async with app_on(session_of(two_branches(*WORDS)), size=size) as desk:
        await desk.pilot.press("up")
        await desk.wait_until(lambda: edge(desk))
        yield desk


SCENES = (
    Scene("cache", kept),
    Scene("cache-narrow", kept, NARROW),
    Scene("cache-wide", kept, LARGE),
    Scene("cache-ansi", kept, theme="ansi-dark"),
    Scene("cache-no-colour", kept, colours=False),
    Scene("foretold", foretold),
    Scene("foretold-edit", edit_foretold),
)
